#include "accelerator/vulkan/work_queue.h"

#include <algorithm>

#include "accelerator/vulkan/timelines.h"
#include "base/check.h"

namespace hearth {

VkSemaphoreSubmitInfo semaphore_info(VkSemaphore semaphore, uint64_t value) {
  VkSemaphoreSubmitInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO;
  info.semaphore = semaphore;
  info.value = value;
  info.stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
  return info;
}

WorkQueue::WorkQueue(VulkanDevice& device, const QueuePlace& place)
    : device_(device), queue_(device.queue(place)), progress_(make_semaphore(device)) {
  VkCommandPoolCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  info.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  info.queueFamilyIndex = place.family;
  VkCommandPool pool = VK_NULL_HANDLE;
  device.check(device.calls().vkCreateCommandPool(device.handle(), &info, nullptr, &pool),
               "making a queue");
  pool_ = OwnedCommandPool(device, pool);
}

VkCommandBuffer WorkQueue::begin() {
  if (idle_.empty() && !running_.empty()) {
    const uint64_t ended = this->ended();
    const auto runs = std::find_if(running_.begin(), running_.end(),
                                   [ended](const Running& r) { return r.submission > ended; });
    for (auto it = running_.begin(); it != runs; ++it) idle_.push_back(it->commands);
    running_.erase(running_.begin(), runs);
  }
  if (idle_.empty()) {
    VkCommandBufferAllocateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    info.commandPool = pool_.get();
    info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    info.commandBufferCount = 1;
    VkCommandBuffer made = VK_NULL_HANDLE;
    device_.check(device_.calls().vkAllocateCommandBuffers(device_.handle(), &info, &made),
                  "making a list of commands");
    idle_.push_back(made);
  }
  VkCommandBufferBeginInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  const VkCommandBuffer commands = idle_.back();
  device_.check(device_.calls().vkBeginCommandBuffer(commands, &info), "making a list of commands");
  idle_.pop_back();
  return commands;
}

void WorkQueue::end(VkCommandBuffer commands) {
  barrier(commands);
  device_.check(device_.calls().vkEndCommandBuffer(commands), "making a list of commands");
}

void WorkQueue::give_back(VkCommandBuffer commands) {
  if (device_.calls().vkResetCommandBuffer(commands, 0) == VK_SUCCESS) idle_.push_back(commands);
}

void WorkQueue::barrier(VkCommandBuffer commands) const {
  // The barrier also covers the host, which waits for a batch and then reads.
  record_barrier(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_2_HOST_BIT);
}

void WorkQueue::host_barrier(VkCommandBuffer commands) const {
  record_barrier(commands, VK_PIPELINE_STAGE_2_HOST_BIT);
}

void WorkQueue::record_barrier(VkCommandBuffer commands, VkPipelineStageFlags2 before) const {
  constexpr VkAccessFlags2 kAll = VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT;
  VkMemoryBarrier2 memory = {};
  memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2;
  memory.srcStageMask = before;
  memory.srcAccessMask = kAll;
  memory.dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_2_HOST_BIT;
  memory.dstAccessMask = kAll;
  VkDependencyInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO;
  info.memoryBarrierCount = 1;
  info.pMemoryBarriers = &memory;
  device_.calls().vkCmdPipelineBarrier2(commands, &info);
}

void WorkQueue::submit(std::span<Batch> batches) {
  HEARTH_CHECK(!batches.empty(), "a submission without a batch");
  batches.back().signals.push_back(semaphore_info(progress_.get(), submitted_ + 1));
  std::vector<VkCommandBufferSubmitInfo> commands(batches.size());
  std::vector<VkSubmitInfo2> infos(batches.size());
  for (size_t i = 0; i < batches.size(); ++i) {
    commands[i].sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO;
    commands[i].commandBuffer = batches[i].commands;
    VkSubmitInfo2& info = infos[i];
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2;
    info.waitSemaphoreInfoCount = static_cast<uint32_t>(batches[i].waits.size());
    info.pWaitSemaphoreInfos = batches[i].waits.data();
    info.commandBufferInfoCount = 1;
    info.pCommandBufferInfos = &commands[i];
    info.signalSemaphoreInfoCount = static_cast<uint32_t>(batches[i].signals.size());
    info.pSignalSemaphoreInfos = batches[i].signals.data();
  }
  running_.reserve(running_.size() + batches.size());
  device_.check(device_.calls().vkQueueSubmit2(queue_, static_cast<uint32_t>(infos.size()),
                                               infos.data(), VK_NULL_HANDLE),
                "submitting");
  ++submitted_;
  for (const Batch& batch : batches) running_.push_back({batch.commands, submitted_});
}

uint64_t WorkQueue::ended() {
  return submitted_ == 0 ? 0 : semaphore_value(device_, progress_.get());
}

bool WorkQueue::await_end(double seconds) {
  return submitted_ == 0 || await_semaphore(device_, progress_.get(), submitted_, seconds);
}

}  // namespace hearth
