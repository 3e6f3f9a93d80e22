// Buffers of a Vulkan device by number. A buffer is either in the device's memory, with an address
// for shaders, or imported memory of the host, which only copies can use.
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
  uint64_t begin = 0;  // offset of byte 0 in the buffer, which makes addresses aligned
  uint64_t bytes = 0;
  uint64_t address = 0;         // address of byte 0; 0: the host's memory
  std::byte* mapped = nullptr;  // byte 0 for the host; null: the host cannot access it
  bool imported = false;
};

class DeviceMemory {
 public:
  // `visible`: buffers lie in memory that the host can access, if there is such memory.
  DeviceMemory(VulkanDevice& device, bool visible);

  // allocate() and import() do as Accelerator's functions of these names.
  BufferId allocate(uint64_t bytes);
  BufferId import(std::span<std::byte> memory);

  // Makes a buffer of the host's pinned memory, for copies from and to the device.
  DeviceBuffer make_staging(uint64_t bytes);

  // Returns the buffer of the place. Throws kRequest where there is none or fewer than `bytes`
  // bytes follow the place.
  const DeviceBuffer& at(const Place& place, uint64_t bytes) const;
  // Returns the address of the place, from which a shader uses `bytes` bytes.
  uint64_t address(const Place& place, uint64_t bytes = 0) const;

  // Removes the buffer from the numbered ones and returns it.
  DeviceBuffer take(BufferId id);

  // Returns the most bytes of one buffer.
  uint64_t max_bytes() const;

 private:
  DeviceBuffer make(uint64_t bytes, uint32_t type, VkBufferUsageFlags usage);
  OwnedBuffer make_buffer(uint64_t bytes, VkBufferUsageFlags usage, const void* next);
  void bind(DeviceBuffer* made, VkDeviceSize bytes, uint32_t type, const void* next);
  BufferId number(DeviceBuffer made);
  // Returns the first memory type among `bits` with all of `needed`, preferably one with `liked`;
  // UINT32_MAX where there is none.
  uint32_t type_with(uint32_t bits, VkMemoryPropertyFlags needed,
                     VkMemoryPropertyFlags liked) const;
  [[noreturn]] void fail_short(uint64_t bytes) const;

  VulkanDevice& device_;
  std::vector<uint32_t> families_;  // the queue families that use the buffers
  uint64_t padding_ = 0;            // bytes added so that an address can be aligned
  uint32_t own_type_ = 0, host_type_ = 0;
  std::vector<DeviceBuffer> buffers_;  // by number; a freed one has no handle
};

}  // namespace hearth
