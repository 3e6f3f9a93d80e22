// Turns command lists into Vulkan's command buffers and submissions.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "accelerator/command_list.h"
#include "accelerator/vulkan/memory.h"
#include "accelerator/vulkan/pipelines.h"
#include "accelerator/vulkan/timelines.h"
#include "accelerator/vulkan/work_queue.h"

namespace hearth {

class Recorder {
 public:
  Recorder(VulkanDevice& device, DeviceMemory& memory, Timelines& timelines, Pipelines& pipelines)
      : device_(device), memory_(memory), timelines_(timelines), pipelines_(pipelines) {}

  // Submits the list to the queues. If it throws kRequest or kUnsupported for the list, none of its
  // commands begins. `fused`: as in Pipelines::of.
  void submit(const CommandList& list, bool fused, std::vector<WorkQueue>& queues);

 private:
  // A command that passed all checks. If it is a kernel, it has dispatches and their pipelines.
  struct Prepared {
    const Command* command = nullptr;
    std::vector<Dispatch> dispatches = {};
    std::vector<VkPipeline> pipelines = {};
  };
  // The commands that were recorded for one queue.
  struct Lane {
    std::vector<Batch> batches = {};
    bool open = false;  // whether more commands may join the last batch
  };

  std::vector<Prepared> prepare(const CommandList& list, bool fused, size_t queues);
  void check_copy(const CopyBytes& copy) const;
  void check_kernel(const KernelCall& call) const;
  void check_signals(const CommandList& list) const;
  void record(const Prepared& prepared, WorkQueue& queue, Lane* lane);
  void record_work(const Prepared& prepared, VkCommandBuffer commands) const;

  VulkanDevice& device_;
  DeviceMemory& memory_;
  Timelines& timelines_;
  Pipelines& pipelines_;
};

}  // namespace hearth
