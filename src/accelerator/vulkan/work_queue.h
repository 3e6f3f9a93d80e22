// A queue of a device with its command buffers and a count of what was submitted to it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "accelerator/vulkan/device.h"

namespace hearth {

// Commands that begin once the waits are over and whose end gives the signals.
struct Batch {
  std::vector<VkSemaphoreSubmitInfo> waits = {};
  VkCommandBuffer commands = VK_NULL_HANDLE;
  std::vector<VkSemaphoreSubmitInfo> signals = {};
};

VkSemaphoreSubmitInfo semaphore_info(VkSemaphore semaphore, uint64_t value);

class WorkQueue {
 public:
  WorkQueue(VulkanDevice& device, const QueuePlace& place);

  // An empty command buffer, begun. It is used for the next submission or given back.
  VkCommandBuffer begin();
  // Ends it, so that what it wrote can be seen by the host.
  void end(VkCommandBuffer commands);
  void give_back(VkCommandBuffer commands);
  // Makes everything behind it wait for everything before it.
  void barrier(VkCommandBuffer commands) const;
  // Lets everything behind it see what the host has written.
  void host_barrier(VkCommandBuffer commands) const;

  // Batches of ended commands, at least one.
  void submit(std::span<Batch> batches);

  // How many submissions there were, and how many have ended.
  uint64_t submitted() const { return submitted_; }
  uint64_t ended();
  // Returns whether all have ended within `seconds`.
  bool await_end(double seconds);

 private:
  struct Running {
    VkCommandBuffer commands;
    uint64_t submission;
  };

  void record_barrier(VkCommandBuffer commands, VkPipelineStageFlags2 before) const;

  VulkanDevice& device_;
  VkQueue queue_;
  OwnedCommandPool pool_;
  OwnedSemaphore progress_;  // the submissions that have ended
  uint64_t submitted_ = 0;
  std::vector<Running> running_;  // in the order of their submissions
  std::vector<VkCommandBuffer> idle_;
};

}  // namespace hearth
