#include "accelerator/vulkan/device.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/error.h"

namespace hearth {

VulkanDevice::VulkanDevice(std::shared_ptr<const VulkanInstance> instance,
                           const PhysicalDevice& physical)
    : instance_(std::move(instance)), physical_(physical) {
  static constexpr std::array<float, 2> kPriorities = {1, 1};
  std::vector<QueuePlace> places = physical_.queues;
  places.push_back(physical_.own_copies);
  std::vector<VkDeviceQueueCreateInfo> queues;
  for (const QueuePlace& place : places) {
    auto of_family = std::find_if(queues.begin(), queues.end(), [&place](const auto& queue) {
      return queue.queueFamilyIndex == place.family;
    });
    if (of_family == queues.end()) {
      VkDeviceQueueCreateInfo queue = {};
      queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
      queue.queueFamilyIndex = place.family;
      queue.pQueuePriorities = kPriorities.data();
      of_family = queues.insert(queues.end(), queue);
    }
    of_family->queueCount = std::max(of_family->queueCount, place.index + 1);
  }
  VkDeviceCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.pNext = physical_.features.link();
  info.queueCreateInfoCount = static_cast<uint32_t>(queues.size());
  info.pQueueCreateInfos = queues.data();
  info.enabledExtensionCount = static_cast<uint32_t>(physical_.extensions.size());
  info.ppEnabledExtensionNames = physical_.extensions.data();
  check(vkCreateDevice(physical_.handle, &info, nullptr, &handle_), "opening it");
  volkLoadDeviceTable(&calls_, handle_);
}

VulkanDevice::~VulkanDevice() {
  if (handle_ != VK_NULL_HANDLE && !abandoned_) calls_.vkDestroyDevice(handle_, nullptr);
  // Never frees this reference, so that the instance lives as long as the abandoned device.
  if (abandoned_) static_cast<void>(new std::shared_ptr<const VulkanInstance>(instance_));
}

VkQueue VulkanDevice::queue(const QueuePlace& place) const {
  VkQueue queue = VK_NULL_HANDLE;
  calls_.vkGetDeviceQueue(handle_, place.family, place.index, &queue);
  return queue;
}

void VulkanDevice::check(VkResult result, std::string_view doing) {
  if (result >= 0) return;
  if (result == VK_ERROR_DEVICE_LOST) {
    stopped_ = true;
    lose(fmt::format("the accelerator {} was lost while {}; see the system's log, and start again",
                     name(), doing));
  }
  fail(ErrorCode::kResource,
       "the accelerator {} failed while {}: {}; free memory on it, or use another", name(), doing,
       vulkan_text(result));
}

void VulkanDevice::lose(std::string why) {
  if (why_lost_.empty()) why_lost_ = std::move(why);
  throw Error(ErrorCode::kResource, why_lost_);
}

void VulkanDevice::check_alive() const {
  if (lost()) throw Error(ErrorCode::kResource, why_lost_);
}

}  // namespace hearth
