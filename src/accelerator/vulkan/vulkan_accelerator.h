// An Accelerator with a driver of Vulkan 1.3. open_vulkan() (find.h) makes it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "accelerator/accelerator.h"
#include "accelerator/vulkan/device.h"
#include "accelerator/vulkan/memory.h"
#include "accelerator/vulkan/pipelines.h"
#include "accelerator/vulkan/probe.h"
#include "accelerator/vulkan/recorder.h"
#include "accelerator/vulkan/timelines.h"
#include "accelerator/vulkan/work_queue.h"

namespace hearth {

struct VulkanOptions {
  // Whether to copy through pinned memory even where the host can access the accelerator's memory.
  bool stage = false;
};

class VulkanAccelerator final : public Accelerator {
 public:
  // Opens the device and probes its arithmetic; throws kUnsupported where the probes refuse it.
  VulkanAccelerator(std::shared_ptr<const VulkanInstance> instance, const PhysicalDevice& physical,
                    const VulkanOptions& options);
  ~VulkanAccelerator() override;

  const AcceleratorFacts& facts() const override;
  Buffer allocate(uint64_t bytes) override;
  Buffer import(std::span<std::byte> memory) override;
  void write(Place to, std::span<const std::byte> bytes) override;
  void read(Place from, std::span<std::byte> bytes) override;
  TimelineId make_timeline() override;
  uint64_t reached(TimelineId timeline) override;
  void signal(Moment moment) override;
  void wait(Moment moment, double seconds) override;
  std::string why_not(const KernelCall& call) override;
  void submit(const CommandList& list) override;
  bool stopped() const override { return device_.stopped(); }

 protected:
  void free(BufferId id) noexcept override;

 private:
  // A buffer that was freed while submitted commands may have used it.
  struct Leaving {
    DeviceBuffer buffer;
    std::vector<uint64_t> submitted;  // by queue: the submission after whose end it can go
  };

  std::vector<uint32_t> run_probe(std::string_view name, bool fused, std::span<const uint32_t> in,
                                  uint32_t count, size_t out_words);
  void let_leave();
  bool ended(const std::vector<uint64_t>& submitted);
  // Calls `record` to record commands, submits them to `queue`, and waits for their end.
  template <typename Record>
  void run_now(WorkQueue& queue, const Record& record);
  void copy_now(const DeviceBuffer& from, uint64_t from_offset, const DeviceBuffer& to,
                uint64_t to_offset, uint64_t bytes);
  const DeviceBuffer& staging();

  mutable AcceleratorFacts facts_;  // free_bytes is updated when facts() is called
  VulkanDevice device_;
  bool visible_;
  DeviceMemory memory_;
  Timelines timelines_;
  Pipelines pipelines_;
  std::vector<WorkQueue> queues_;
  WorkQueue own_copies_;  // the queue of write() and read()
  Recorder recorder_;
  Arithmetic arithmetic_;
  std::optional<DeviceBuffer> staging_;
  std::vector<Leaving> leaving_;
};

}  // namespace hearth
