// A device of Vulkan that was opened, and owners of what is made on it.
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

  // Throws kResource where the result of `doing` ("copying") is an error; notes that it is lost.
  void check(VkResult result, std::string_view doing);

  bool lost() const { return !why_lost_.empty(); }
  // The driver calls it lost: it runs nothing more.
  bool stopped() const { return stopped_; }
  // Counts it as lost from now on and throws why.
  [[noreturn]] void lose(std::string why);
  // Throws where it is lost.
  void check_alive() const;

  // Leaves what was made on it to the driver, since work that never ends may use it.
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

// Owns a handle that the function of the table destroys.
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
