// The buffers of a Vulkan device, by their numbers. A buffer lies in the device's memory and has an
// address for shaders. Or it is imported memory of the host, which only copies can use.
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
  uint64_t begin = 0;  // where byte 0 lies in the buffer, so that addresses are aligned
  uint64_t bytes = 0;
  uint64_t address = 0;         // of byte 0; 0: in the host's memory
  std::byte* mapped = nullptr;  // byte 0 as the host sees it; null: not at all
  bool imported = false;
};

class DeviceMemory {
 public:
  // `visible`: whether buffers shall lie in memory that the host can access, if there is such
  // memory.
  DeviceMemory(VulkanDevice& device, bool visible);

  // allocate() and import() do what Accelerator::allocate() and import() say.
  BufferId allocate(uint64_t bytes);
  BufferId import(std::span<std::byte> memory);

  // Makes a buffer in pinned memory of the host, for copies from and to the device.
  DeviceBuffer make_staging(uint64_t bytes);

  // Returns the buffer of the place. Throws kRequest where that buffer does not exist, or has fewer
  // than `bytes` bytes from the place on.
  const DeviceBuffer& at(const Place& place, uint64_t bytes) const;
  // Returns the address of the place, from which a shader uses `bytes` bytes.
  uint64_t address(const Place& place, uint64_t bytes = 0) const;

  // Takes the buffer out of the numbered ones and returns it.
  DeviceBuffer take(BufferId id);

  // Returns the most bytes of one buffer.
  uint64_t max_bytes() const;

 private:
  DeviceBuffer make(uint64_t bytes, uint32_t type, VkBufferUsageFlags usage);
  OwnedBuffer make_buffer(uint64_t bytes, VkBufferUsageFlags usage, const void* next);
  void bind(DeviceBuffer* made, VkDeviceSize bytes, uint32_t type, const void* next);
  BufferId number(DeviceBuffer made);
  // Returns the first of the memory types `bits` that has all properties `needed`, preferably also
  // `liked`. Returns UINT32_MAX where no type has all of `needed`.
  uint32_t type_with(uint32_t bits, VkMemoryPropertyFlags needed,
                     VkMemoryPropertyFlags liked) const;
  [[noreturn]] void fail_short(uint64_t bytes) const;

  VulkanDevice& device_;
  std::vector<uint32_t> families_;  // the queue families that use the buffers
  uint64_t padding_ = 0;            // added so that an address can be aligned
  uint32_t own_type_ = 0, host_type_ = 0;
  std::vector<DeviceBuffer> buffers_;  // by number; a freed one has no handle
};

}  // namespace hearth
