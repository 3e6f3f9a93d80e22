// An opened Vulkan device, and owners of the objects that are made on it.
#pragma once

#include <volk.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "accelerator/vulkan/loader.h"
#include "accelerator/vulkan/physical.h"

namespace hearth {

class VulkanDevice {
 public:
  VulkanDevice(std::shared_ptr<const VulkanInstance> instance, const PhysicalDevice& physical);
  VulkanDevice(const VulkanDevice&) = delete;
  VulkanDevice& operator=(const VulkanDevice&) = delete;
  ~VulkanDevice();

  VkDevice handle() const { return handle_; }
  const VolkDeviceTable& calls() const { return calls_; }
  const PhysicalDevice& physical() const { return physical_; }
  const std::string& name() const { return physical_.facts.name; }
  VkQueue queue(const QueuePlace& place) const;

  // Throws kResource where `result` is an error of `doing` (such as "copying"). If the error is
  // that the driver calls the device lost, marks it as lost.
  void check(VkResult result, std::string_view doing);

  bool lost() const { return !why_lost_.empty(); }
  // Whether the driver itself calls the device lost; no work runs on it any more then.
  bool stopped() const { return stopped_; }
  // Marks the device as lost for good, and throws `why`.
  [[noreturn]] void lose(std::string why);
  // Throws if the device was marked as lost.
  void check_alive() const;

  // Leaves the device and the objects that were made on it undestroyed for ever, since work that
  // never ends may use them.
  void abandon() { abandoned_ = true; }
  bool abandoned() const { return abandoned_; }

 private:
  std::shared_ptr<const VulkanInstance> instance_;
  PhysicalDevice physical_;
  VkDevice handle_ = VK_NULL_HANDLE;
  VolkDeviceTable calls_ = {};
  std::string why_lost_;
  bool stopped_ = false;
  bool abandoned_ = false;
};

// Owns a handle. The destructor destroys it with function kDestroy of the device's table.
template <typename Handle, auto kDestroy>
class VulkanOwned {
 public:
  VulkanOwned() = default;
  VulkanOwned(const VulkanDevice& device, Handle handle) : device_(&device), handle_(handle) {}
  VulkanOwned(VulkanOwned&& other) noexcept
      : device_(other.device_), handle_(std::exchange(other.handle_, VK_NULL_HANDLE)) {}
  VulkanOwned& operator=(VulkanOwned&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~VulkanOwned() {
    if (handle_ == VK_NULL_HANDLE || device_->abandoned()) return;
    (device_->calls().*kDestroy)(device_->handle(), handle_, nullptr);
  }

  Handle get() const { return handle_; }

 private:
  const VulkanDevice* device_ = nullptr;
  Handle handle_ = VK_NULL_HANDLE;
};

using OwnedBuffer = VulkanOwned<VkBuffer, &VolkDeviceTable::vkDestroyBuffer>;
using OwnedMemory = VulkanOwned<VkDeviceMemory, &VolkDeviceTable::vkFreeMemory>;
using OwnedSemaphore = VulkanOwned<VkSemaphore, &VolkDeviceTable::vkDestroySemaphore>;
using OwnedCommandPool = VulkanOwned<VkCommandPool, &VolkDeviceTable::vkDestroyCommandPool>;
using OwnedPipeline = VulkanOwned<VkPipeline, &VolkDeviceTable::vkDestroyPipeline>;
using OwnedLayout = VulkanOwned<VkPipelineLayout, &VolkDeviceTable::vkDestroyPipelineLayout>;
using OwnedModule = VulkanOwned<VkShaderModule, &VolkDeviceTable::vkDestroyShaderModule>;

}  // namespace hearth
