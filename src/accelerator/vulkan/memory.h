// Buffers of a Vulkan device by number: in its own memory, each with an address for shaders, or the
// host's memory that was shown to it, which copies alone reach.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "accelerator/place.h"
#include "accelerator/vulkan/device.h"

namespace hearth {

struct DeviceBuffer {
  OwnedMemory memory;  // outlives the buffer
  OwnedBuffer buffer;
  uint64_t begin = 0;  // of byte 0 in the buffer, so that addresses are aligned
  uint64_t bytes = 0;
  uint64_t address = 0;         // of byte 0; 0: the host's memory
  std::byte* mapped = nullptr;  // byte 0; none: the host does not see it
  bool imported = false;
};

class DeviceMemory {
 public:
  // `visible`: buffers lie where the host sees them, if there is such memory.
  DeviceMemory(VulkanDevice& device, bool visible);

  // Both do what Accelerator's functions of these names do.
  BufferId allocate(uint64_t bytes);
  BufferId import(std::span<std::byte> memory);

  // Memory of the host, pinned, for copies from and to the device.
  DeviceBuffer make_staging(uint64_t bytes);

  // The buffer of the place; kRequest where there is none or it ends before `bytes` do.
  const DeviceBuffer& at(const Place& place, uint64_t bytes) const;
  // The address of the place, of which a shader uses `bytes`.
  uint64_t address(const Place& place, uint64_t bytes = 0) const;

  // Returns the buffer, which has a number no longer.
  DeviceBuffer take(BufferId id);

  // The most of one buffer.
  uint64_t most_bytes() const;

 private:
  DeviceBuffer make(uint64_t bytes, uint32_t type, VkBufferUsageFlags usage);
  OwnedBuffer make_buffer(uint64_t bytes, VkBufferUsageFlags usage, const void* next);
  void bind(DeviceBuffer* made, VkDeviceSize bytes, uint32_t type, const void* next);
  BufferId number(DeviceBuffer made);
  // Returns the first type among `bits` with all of `needed`, and of these one with `liked`;
  // UINT32_MAX where there is none.
  uint32_t type_with(uint32_t bits, VkMemoryPropertyFlags needed,
                     VkMemoryPropertyFlags liked) const;
  [[noreturn]] void fail_short(uint64_t bytes) const;

  VulkanDevice& device_;
  std::vector<uint32_t> families_;  // that use the buffers
  uint64_t padding_ = 0;            // that makes an address aligned
  uint32_t own_type_ = 0, host_type_ = 0;
  std::vector<DeviceBuffer> buffers_;  // by number; without a handle where freed
};

}  // namespace hearth
