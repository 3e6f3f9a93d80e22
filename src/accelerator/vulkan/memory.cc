#include "accelerator/vulkan/memory.h"

#include <algorithm>

#include "base/bytes_text.h"
#include "base/error.h"

namespace hearth {

namespace {

constexpr uint64_t kAddressAlignment = 256;

constexpr VkBufferUsageFlags kCopies =
    VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
constexpr VkBufferUsageFlags kShaders =
    VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;

constexpr VkMemoryPropertyFlags kOwn = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
constexpr VkMemoryPropertyFlags kSeen =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryPropertyFlags kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;

bool short_of_memory(VkResult result) {
  return result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_OUT_OF_HOST_MEMORY;
}

}  // namespace

DeviceMemory::DeviceMemory(VulkanDevice& device, bool visible) : device_(device) {
  for (const QueuePlace& queue : device.physical().queues) families_.push_back(queue.family);
  std::sort(families_.begin(), families_.end());
  families_.erase(std::unique(families_.begin(), families_.end()), families_.end());
  const OwnedBuffer probe = make_buffer(kAddressAlignment, kCopies | kShaders, nullptr);
  VkMemoryRequirements own = {};
  device.calls().vkGetBufferMemoryRequirements(device.handle(), probe.get(), &own);
  if (own.alignment < kAddressAlignment) padding_ = kAddressAlignment - own.alignment;
  own_type_ = UINT32_MAX;
  if (visible) own_type_ = type_with(own.memoryTypeBits, kOwn | kSeen, kCached);
  if (own_type_ == UINT32_MAX) own_type_ = type_with(own.memoryTypeBits, kOwn, 0);
  const OwnedBuffer staging = make_buffer(kAddressAlignment, kCopies, nullptr);
  VkMemoryRequirements host = {};
  device.calls().vkGetBufferMemoryRequirements(device.handle(), staging.get(), &host);
  host_type_ = type_with(host.memoryTypeBits, kSeen, kCached);
  if (own_type_ == UINT32_MAX || host_type_ == UINT32_MAX) {
    fail(ErrorCode::kUnsupported,
         "the accelerator {} has no memory for buffers of shaders and copies; use another",
         device.name());
  }
}

uint64_t DeviceMemory::max_bytes() const {
  const uint64_t most = device_.physical().facts.allocation_bytes;
  return most > padding_ ? most - padding_ : 0;
}

BufferId DeviceMemory::allocate(uint64_t bytes) {
  if (bytes == 0) fail(ErrorCode::kRequest, "a buffer must have at least 1 byte");
  if (bytes > max_bytes()) {
    fail(ErrorCode::kResource,
         "a buffer of {} is larger than the accelerator {} allows ({}): use less",
         bytes_text(bytes), device_.name(), bytes_text(max_bytes()));
  }
  const uint64_t free = free_bytes_of(device_.physical());
  if (free > 0 && bytes > free) fail_short(bytes);
  return number(make(bytes, own_type_, kCopies | kShaders));
}

DeviceBuffer DeviceMemory::make_staging(uint64_t bytes) { return make(bytes, host_type_, kCopies); }

BufferId DeviceMemory::import(std::span<std::byte> memory) {
  const uint64_t alignment = device_.physical().facts.import_alignment;
  if (alignment == 0) {
    fail(ErrorCode::kUnsupported,
         "the accelerator {} cannot import the host's memory; copy through pinned memory",
         device_.name());
  }
  if (memory.empty() || reinterpret_cast<uintptr_t>(memory.data()) % alignment != 0 ||
      memory.size() % alignment != 0) {
    fail(ErrorCode::kRequest,
         "memory of {} bytes at {} cannot be imported; both must be multiples of {}", memory.size(),
         static_cast<const void*>(memory.data()), alignment);
  }
  if (memory.size() > device_.physical().facts.allocation_bytes) {
    fail(ErrorCode::kResource,
         "{} cannot be imported at once, as the accelerator {} allows {}: import in pieces",
         bytes_text(memory.size()), device_.name(),
         bytes_text(device_.physical().facts.allocation_bytes));
  }
  constexpr auto kHandle = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
  VkMemoryHostPointerPropertiesEXT pointer = {};
  pointer.sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT;
  const VolkDeviceTable& calls = device_.calls();
  device_.check(
      calls.vkGetMemoryHostPointerPropertiesEXT(device_.handle(), kHandle, memory.data(), &pointer),
      "importing the host's memory");
  VkExternalMemoryBufferCreateInfo external = {};
  external.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO;
  external.handleTypes = kHandle;
  DeviceBuffer made;
  made.imported = true;
  made.bytes = memory.size();
  made.mapped = memory.data();
  made.buffer = make_buffer(memory.size(), kCopies, &external);
  VkMemoryRequirements requirements = {};
  calls.vkGetBufferMemoryRequirements(device_.handle(), made.buffer.get(), &requirements);
  const uint32_t type =
      type_with(pointer.memoryTypeBits & requirements.memoryTypeBits, kSeen, kCached);
  if (type == UINT32_MAX || requirements.size > memory.size()) {
    fail(ErrorCode::kUnsupported,
         "the accelerator {} has no memory type for host memory; copy through pinned memory",
         device_.name());
  }
  // Some drivers allocate more than is free, and then lose the device when that memory is used. So
  // this asks first.
  const uint64_t free =
      free_bytes_of(device_.physical(), device_.physical().memory.memoryTypes[type].heapIndex);
  if (free > 0 && memory.size() > free) {
    fail(ErrorCode::kResource,
         "the accelerator {} can import {} more of host memory, less than the {} needed; copy "
         "through pinned memory",
         device_.name(), bytes_text(free), bytes_text(memory.size()));
  }
  VkImportMemoryHostPointerInfoEXT from = {};
  from.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT;
  from.handleType = kHandle;
  from.pHostPointer = memory.data();
  bind(&made, memory.size(), type, &from);
  return number(std::move(made));
}

const DeviceBuffer& DeviceMemory::at(const Place& place, uint64_t bytes) const {
  if (place.buffer >= buffers_.size() || buffers_[place.buffer].bytes == 0) {
    fail(ErrorCode::kRequest, "buffer {} was never made, or was freed", place.buffer);
  }
  const DeviceBuffer& buffer = buffers_[place.buffer];
  if (place.offset > buffer.bytes || bytes > buffer.bytes - place.offset) {
    fail(ErrorCode::kRequest, "bytes {} to {} of buffer {} are out of range: it has {}",
         place.offset, place.offset + bytes, place.buffer, buffer.bytes);
  }
  return buffer;
}

uint64_t DeviceMemory::address(const Place& place, uint64_t bytes) const {
  const DeviceBuffer& buffer = at(place, bytes);
  if (buffer.address == 0) {
    fail(ErrorCode::kRequest,
         "buffer {} is the host's memory, which kernels do not reach; copy it first", place.buffer);
  }
  return buffer.address + place.offset;
}

DeviceBuffer DeviceMemory::take(BufferId id) {
  static_cast<void>(at({id}, 0));
  return std::exchange(buffers_[id], {});
}

DeviceBuffer DeviceMemory::make(uint64_t bytes, uint32_t type, VkBufferUsageFlags usage) {
  const bool addressed = (usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT) != 0;
  const VolkDeviceTable& calls = device_.calls();
  DeviceBuffer made;
  made.bytes = bytes;
  made.buffer = make_buffer(bytes + (addressed ? padding_ : 0), usage, nullptr);
  VkMemoryRequirements requirements = {};
  calls.vkGetBufferMemoryRequirements(device_.handle(), made.buffer.get(), &requirements);
  VkMemoryAllocateFlagsInfo flags = {};
  flags.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  bind(&made, requirements.size, type, addressed ? &flags : nullptr);
  if (addressed) {
    VkBufferDeviceAddressInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO;
    info.buffer = made.buffer.get();
    const uint64_t address = calls.vkGetBufferDeviceAddress(device_.handle(), &info);
    made.begin = (kAddressAlignment - address % kAddressAlignment) % kAddressAlignment;
    made.address = address + made.begin;
  }
  constexpr VkMemoryPropertyFlags kVisible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
  if ((device_.physical().memory.memoryTypes[type].propertyFlags & kVisible) == 0) return made;
  void* mapped = nullptr;
  device_.check(
      calls.vkMapMemory(device_.handle(), made.memory.get(), 0, VK_WHOLE_SIZE, 0, &mapped),
      "mapping memory");
  made.mapped = static_cast<std::byte*>(mapped) + made.begin;
  return made;
}

OwnedBuffer DeviceMemory::make_buffer(uint64_t bytes, VkBufferUsageFlags usage, const void* next) {
  VkBufferCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.pNext = next;
  info.size = bytes;
  info.usage = usage;
  if (families_.size() > 1) {
    info.sharingMode = VK_SHARING_MODE_CONCURRENT;
    info.queueFamilyIndexCount = static_cast<uint32_t>(families_.size());
    info.pQueueFamilyIndices = families_.data();
  }
  VkBuffer buffer = VK_NULL_HANDLE;
  const VkResult result = device_.calls().vkCreateBuffer(device_.handle(), &info, nullptr, &buffer);
  if (short_of_memory(result)) fail_short(bytes);
  device_.check(result, "making a buffer");
  return {device_, buffer};
}

void DeviceMemory::bind(DeviceBuffer* made, VkDeviceSize bytes, uint32_t type, const void* next) {
  VkMemoryAllocateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  info.pNext = next;
  info.allocationSize = bytes;
  info.memoryTypeIndex = type;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  const VkResult result =
      device_.calls().vkAllocateMemory(device_.handle(), &info, nullptr, &memory);
  if (short_of_memory(result)) fail_short(bytes);
  device_.check(result, made->imported ? "importing the host's memory" : "taking memory");
  made->memory = OwnedMemory(device_, memory);
  device_.check(device_.calls().vkBindBufferMemory(device_.handle(), made->buffer.get(), memory, 0),
                "making a buffer");
}

BufferId DeviceMemory::number(DeviceBuffer made) {
  buffers_.push_back(std::move(made));
  return static_cast<BufferId>(buffers_.size() - 1);
}

uint32_t DeviceMemory::type_with(uint32_t bits, VkMemoryPropertyFlags needed,
                                 VkMemoryPropertyFlags liked) const {
  const VkPhysicalDeviceMemoryProperties& memory = device_.physical().memory;
  for (const VkMemoryPropertyFlags flags : {needed | liked, needed}) {
    for (uint32_t t = 0; t < memory.memoryTypeCount; ++t) {
      const VkMemoryType& type = memory.memoryTypes[t];
      // Protected memory and AMD's uncached memory serve other purposes, so their types are not
      // used.
      constexpr VkMemoryPropertyFlags kStrange =
          VK_MEMORY_PROPERTY_PROTECTED_BIT | VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD;
      if ((bits >> t & 1) == 0 || (type.propertyFlags & kStrange) != 0) continue;
      const bool elsewhere =
          (needed & kOwn) != 0 && type.heapIndex != device_.physical().memory_heap;
      if (!elsewhere && (type.propertyFlags & flags) == flags) return t;
    }
  }
  return UINT32_MAX;
}

void DeviceMemory::fail_short(uint64_t bytes) const {
  const AcceleratorFacts& facts = device_.physical().facts;
  const uint64_t free = free_bytes_of(device_.physical());
  if (free == 0) {
    fail(ErrorCode::kResource,
         "the accelerator {} has no room for another {} in its memory of {}: lower --gpu-memory, "
         "or end other programs that use it",
         facts.name, bytes_text(bytes), bytes_text(facts.memory_bytes));
  }
  fail(ErrorCode::kResource,
       "the accelerator {} has no room for {}, because only {} of its {} are free: lower "
       "--gpu-memory, or end other programs that use it",
       facts.name, bytes_text(bytes), bytes_text(free), bytes_text(facts.memory_bytes));
}

}  // namespace hearth
