// Reads the facts that a driver gives about a device, and decides whether the device can be used.
#pragma once

#include <volk.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "accelerator/accelerator.h"
#include "accelerator/vulkan/float_modes.h"

namespace hearth {

// Vulkan's structs of features; link() makes each of them point to the next.
struct FeatureChain {
  VkPhysicalDeviceFeatures2 core = {};
  VkPhysicalDeviceVulkan11Features of_1_1 = {};
  VkPhysicalDeviceVulkan12Features of_1_2 = {};
  VkPhysicalDeviceVulkan13Features of_1_3 = {};

  // Links the structs and returns the first.
  VkPhysicalDeviceFeatures2* link();
};

// A queue, by its family and its index there.
struct QueuePlace {
  uint32_t family = 0, index = 0;

  bool operator==(const QueuePlace&) const = default;
};

struct PhysicalDevice {
  VkPhysicalDevice handle = VK_NULL_HANDLE;
  AcceleratorFacts facts;  // without `arithmetic`, which the probes fill in
  std::string refused;     // why it cannot be used, with the remedy; empty: not known
  // The features and extensions to ask for when the device is opened.
  FeatureChain features;
  std::vector<const char*> extensions;
  std::vector<QueuePlace> queues;  // by index as in facts.queues
  QueuePlace own_copies;  // the queue for write() and read(): one of `queues` where none is spare
  VkPhysicalDeviceMemoryProperties memory = {};
  uint32_t memory_heap = 0;  // the heap of facts.memory_bytes
  std::array<uint32_t, 3> max_groups = {};
  FloatModes float_modes;
  bool has_float64 = false;
  bool reports_budget = false;
};

PhysicalDevice describe_physical(VkPhysicalDevice handle);

// Returns the free bytes of a heap; 0 where the driver does not tell.
uint64_t free_bytes_of(const PhysicalDevice& device, uint32_t heap);
// Returns the free bytes of the device's own memory.
inline uint64_t free_bytes_of(const PhysicalDevice& device) {
  return free_bytes_of(device, device.memory_heap);
}

}  // namespace hearth
