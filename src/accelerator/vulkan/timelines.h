// Implements timelines by Vulkan's timeline semaphores.
#pragma once

#include <vector>

#include "accelerator/command_list.h"
#include "accelerator/vulkan/device.h"

namespace hearth {

OwnedSemaphore make_semaphore(VulkanDevice& device);
uint64_t semaphore_value(VulkanDevice& device, VkSemaphore semaphore);
// Waits until the semaphore has the value, at most `seconds`. Returns whether it has.
bool await_semaphore(VulkanDevice& device, VkSemaphore semaphore, uint64_t value, double seconds);

// The timelines of a device. Its functions throw kRequest for a timeline that does not exist.
class Timelines {
 public:
  explicit Timelines(VulkanDevice& device) : device_(device) {}

  TimelineId make();
  uint64_t reached(TimelineId timeline);
  // Signals from the host. Throws kRequest for a value that is not greater than the current one.
  void signal(const Moment& moment);
  // Waits for the moment. Marks the device as lost where it does not come within `seconds`.
  void wait(const Moment& moment, double seconds);

  VkSemaphore at(TimelineId timeline) const { return entry(timeline).semaphore.get(); }
  // Returns the highest value of the timeline for which a signal was submitted.
  uint64_t promised(TimelineId timeline) const { return entry(timeline).promised; }
  void promise(const Moment& moment);

 private:
  struct Entry {
    OwnedSemaphore semaphore;
    uint64_t promised = 0;
  };

  const Entry& entry(TimelineId timeline) const;

  VulkanDevice& device_;
  std::vector<Entry> entries_;
};

}  // namespace hearth
