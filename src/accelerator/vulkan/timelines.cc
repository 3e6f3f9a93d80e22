#include "accelerator/vulkan/timelines.h"

#include <algorithm>

#include "base/error.h"

namespace hearth {

OwnedSemaphore make_semaphore(VulkanDevice& device) {
  VkSemaphoreTypeCreateInfo type = {};
  type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
  info.pNext = &type;
  VkSemaphore semaphore = VK_NULL_HANDLE;
  device.check(device.calls().vkCreateSemaphore(device.handle(), &info, nullptr, &semaphore),
               "making a timeline");
  return {device, semaphore};
}

uint64_t semaphore_value(VulkanDevice& device, VkSemaphore semaphore) {
  uint64_t value = 0;
  device.check(device.calls().vkGetSemaphoreCounterValue(device.handle(), semaphore, &value),
               "reading a timeline");
  return value;
}

bool await_semaphore(VulkanDevice& device, VkSemaphore semaphore, uint64_t value, double seconds) {
  VkSemaphoreWaitInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
  info.semaphoreCount = 1;
  info.pSemaphores = &semaphore;
  info.pValues = &value;
  // Waits a year at most, since drivers add the time to a clock, which must not overflow.
  const double nanoseconds = std::clamp(seconds * 1e9, 0.0, 365 * 86400 * 1e9);
  const VkResult result =
      device.calls().vkWaitSemaphores(device.handle(), &info, static_cast<uint64_t>(nanoseconds));
  device.check(result, "waiting");
  return result != VK_TIMEOUT;
}

TimelineId Timelines::make() {
  entries_.push_back({make_semaphore(device_)});
  return static_cast<TimelineId>(entries_.size() - 1);
}

uint64_t Timelines::reached(TimelineId timeline) { return semaphore_value(device_, at(timeline)); }

void Timelines::signal(const Moment& moment) {
  const uint64_t value = reached(moment.timeline);
  if (moment.value <= value) {
    fail(ErrorCode::kRequest, "timeline {} is at {} and cannot be set to {}; its values only grow",
         moment.timeline, value, moment.value);
  }
  VkSemaphoreSignalInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO;
  info.semaphore = at(moment.timeline);
  info.value = moment.value;
  device_.check(device_.calls().vkSignalSemaphore(device_.handle(), &info), "signalling");
}

void Timelines::wait(const Moment& moment, double seconds) {
  if (await_semaphore(device_, at(moment.timeline), moment.value, seconds)) return;
  device_.lose(
      fmt::format("the accelerator {} did not reach value {} of timeline {} within {} s and counts "
                  "as lost; see the system's log, and start again",
                  device_.name(), moment.value, moment.timeline, seconds));
}

void Timelines::promise(const Moment& moment) {
  static_cast<void>(entry(moment.timeline));
  entries_[moment.timeline].promised = moment.value;
}

const Timelines::Entry& Timelines::entry(TimelineId timeline) const {
  if (timeline >= entries_.size()) {
    fail(ErrorCode::kRequest, "timeline {} was never made; there are {}", timeline,
         entries_.size());
  }
  return entries_[timeline];
}

}  // namespace hearth
