// A queue of a device with its command buffers and a count of what was submitted to it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "accelerator/vulkan/device.h"

namespace hearth {

// Commands that begin when the waits have ended. The signals are given when the commands end.
struct Batch {
  std::vector<VkSemaphoreSubmitInfo> waits = {};
  VkCommandBuffer commands = VK_NULL_HANDLE;
  std::vector<VkSemaphoreSubmitInfo> signals = {};
};

VkSemaphoreSubmitInfo semaphore_info(VkSemaphore semaphore, uint64_t value);

class WorkQueue {
 public:
  WorkQueue(VulkanDevice& device, const QueuePlace& place);

  // Returns an empty command buffer that is ready for recording. The caller must submit it or give
  // it back before the next begin().
  VkCommandBuffer begin();
  // Ends the recording, so that the host can see the written bytes.
  void end(VkCommandBuffer commands);
  void give_back(VkCommandBuffer commands);
  // Makes all later commands wait for all earlier ones.
  void barrier(VkCommandBuffer commands) const;
  // Makes the host's writes visible to all later commands.
  void host_barrier(VkCommandBuffer commands) const;

  // Submits batches of ended command buffers, at least one batch.
  void submit(std::span<Batch> batches);

  // submitted() is the number of submissions so far, and ended() how many of them have ended.
  uint64_t submitted() const { return submitted_; }
  uint64_t ended();
  // Waits until all submissions have ended, at most `seconds`. Returns whether they have.
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
  OwnedSemaphore progress_;  // its value is the number of ended submissions
  uint64_t submitted_ = 0;
  std::vector<Running> running_;  // in the order of their submissions
  std::vector<VkCommandBuffer> idle_;
};

}  // namespace hearth
