// Timelines as Vulkan's timeline semaphores.
#pragma once

#include <vector>

#include "accelerator/command_list.h"
#include "accelerator/vulkan/device.h"

namespace hearth {

OwnedSemaphore make_semaphore(VulkanDevice& device);
uint64_t semaphore_value(VulkanDevice& device, VkSemaphore semaphore);
// Returns whether the value came within `seconds`.
bool await_semaphore(VulkanDevice& device, VkSemaphore semaphore, uint64_t value, double seconds);

// An unknown timeline throws kRequest.
class Timelines {
 public:
  explicit Timelines(VulkanDevice& device) : device_(device) {}

  TimelineId make();
  uint64_t reached(TimelineId timeline);
  // The host signals; kRequest for a value that is not above the one reached.
  void signal(const Moment& moment);
  // Counts the device as lost where the moment does not come.
  void wait(const Moment& moment, double seconds);

  VkSemaphore at(TimelineId timeline) const { return entry(timeline).semaphore.get(); }
  // The highest value that was submitted to be signalled.
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
