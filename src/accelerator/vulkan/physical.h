// Reads what a driver says of one of its devices, and decides whether that is enough to compute on.
#pragma once

#include <volk.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "accelerator/accelerator.h"
#include "accelerator/vulkan/float_modes.h"

namespace hearth {

// Vulkan's structs of features, which point at each other once linked.
struct FeatureChain {
  VkPhysicalDeviceFeatures2 core = {};
  VkPhysicalDeviceVulkan11Features of_1_1 = {};
  VkPhysicalDeviceVulkan12Features of_1_2 = {};
  VkPhysicalDeviceVulkan13Features of_1_3 = {};

  // Returns the first.
  VkPhysicalDeviceFeatures2* link();
};

// A queue of a family.
struct QueuePlace {
  uint32_t family = 0, index = 0;

  bool operator==(const QueuePlace&) const = default;
};

struct PhysicalDevice {
  VkPhysicalDevice handle = VK_NULL_HANDLE;
  AcceleratorFacts facts;  // `arithmetic` is the probes' to say
  std::string refused;     // what is missing, with the remedy; empty: nothing that the driver tells
  FeatureChain features;   // to be asked for
  std::vector<const char*> extensions;  // to be asked for
  std::vector<QueuePlace> queues;       // of facts.queues
  QueuePlace own_copies;  // the queue for write() and read(): one of `queues` where none is spare
  VkPhysicalDeviceMemoryProperties memory = {};
  uint32_t memory_heap = 0;  // the one of facts.memory_bytes
  std::array<uint32_t, 3> most_groups = {};
  FloatModes float_modes;
  bool has_float64 = false;
  bool tells_budget = false;
};

PhysicalDevice describe_physical(VkPhysicalDevice handle);

// Returns how much of a heap is free; 0 where the driver does not tell.
uint64_t free_bytes_of(const PhysicalDevice& device, uint32_t heap);
// Returns the free bytes of the device's own memory.
inline uint64_t free_bytes_of(const PhysicalDevice& device) {
  return free_bytes_of(device, device.memory_heap);
}

}  // namespace hearth
