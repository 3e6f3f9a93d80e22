#include "accelerator/vulkan/vulkan_accelerator.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/error.h"

namespace hearth {

namespace {

constexpr uint64_t kStagingBytes = 16 << 20;
// The most seconds that work of the accelerator itself may take, such as the copies of write() and
// read(), after the queue's earlier work.
constexpr double kOwnSeconds = 60;
// The seconds that the destructor waits for the work of each queue before it abandons the device:
// kLastSeconds if the device is lost, else kEndSeconds. Where free() must wait, it waits half of
// kLastSeconds for each queue.
constexpr double kLastSeconds = 2, kEndSeconds = 30;

bool host_sees(const PhysicalDevice& physical, const VulkanOptions& options) {
  const AcceleratorKind kind = physical.facts.kind;
  return !options.stage &&
         (kind == AcceleratorKind::kIntegrated || kind == AcceleratorKind::kSoftware);
}

}  // namespace

VulkanAccelerator::VulkanAccelerator(std::shared_ptr<const VulkanInstance> instance,
                                     const PhysicalDevice& physical, const VulkanOptions& options)
    : facts_(physical.facts),
      device_(std::move(instance), physical),
      visible_(host_sees(physical, options)),
      memory_(device_, visible_),
      timelines_(device_),
      pipelines_(device_),
      own_copies_(device_, physical.own_copies),
      recorder_(device_, memory_, timelines_, pipelines_) {
  for (const QueuePlace& place : physical.queues) queues_.emplace_back(device_, place);
  facts_.allocation_bytes = memory_.max_bytes();
  const auto& queues = physical.queues;
  if (!visible_ && std::find(queues.begin(), queues.end(), physical.own_copies) != queues.end()) {
    facts_.lacks.push_back({"a spare queue", "writes and reads wait for what was submitted"});
  }
  arithmetic_ = probe_arithmetic(
      [this](std::string_view name, bool fused, std::span<const uint32_t> in, uint32_t count,
             size_t out_words) { return run_probe(name, fused, in, count, out_words); },
      physical.has_float64);
  facts_.arithmetic = arithmetic_.text;
  if (!arithmetic_.refused.empty()) fail(ErrorCode::kUnsupported, "{}", arithmetic_.refused);
}

VulkanAccelerator::~VulkanAccelerator() {
  const double seconds = device_.lost() ? kLastSeconds : kEndSeconds;
  try {
    bool all = own_copies_.await_end(seconds);
    for (WorkQueue& queue : queues_) all = all && queue.await_end(seconds);
    if (!all) {
      device_.abandon();
    } else {
      // A thread of Mesa may still use a semaphore that it has signalled. This waits for it.
      device_.calls().vkDeviceWaitIdle(device_.handle());
    }
  } catch (const Error&) {
    // The driver calls the device lost, so nothing runs on it and it can be destroyed.
  }
}

const AcceleratorFacts& VulkanAccelerator::facts() const {
  if (!device_.lost()) facts_.free_bytes = free_bytes_of(device_.physical());
  return facts_;
}

Buffer VulkanAccelerator::allocate(uint64_t bytes) {
  device_.check_alive();
  let_leave();
  return {*this, memory_.allocate(bytes), bytes};
}

Buffer VulkanAccelerator::import(std::span<std::byte> memory) {
  device_.check_alive();
  let_leave();
  return {*this, memory_.import(memory), memory.size()};
}

void VulkanAccelerator::write(Place to, std::span<const std::byte> bytes) {
  device_.check_alive();
  const DeviceBuffer& buffer = memory_.at(to, bytes.size());
  if (bytes.empty()) return;
  if (buffer.mapped != nullptr) {
    std::memcpy(buffer.mapped + to.offset, bytes.data(), bytes.size());
    return;
  }
  const DeviceBuffer& pinned = staging();
  for (uint64_t at = 0; at < bytes.size(); at += kStagingBytes) {
    const uint64_t n = std::min<uint64_t>(kStagingBytes, bytes.size() - at);
    std::memcpy(pinned.mapped, bytes.data() + at, n);
    copy_now(pinned, 0, buffer, to.offset + at, n);
  }
}

void VulkanAccelerator::read(Place from, std::span<std::byte> bytes) {
  device_.check_alive();
  const DeviceBuffer& buffer = memory_.at(from, bytes.size());
  if (bytes.empty()) return;
  if (buffer.mapped != nullptr) {
    std::memcpy(bytes.data(), buffer.mapped + from.offset, bytes.size());
    return;
  }
  const DeviceBuffer& pinned = staging();
  for (uint64_t at = 0; at < bytes.size(); at += kStagingBytes) {
    const uint64_t n = std::min<uint64_t>(kStagingBytes, bytes.size() - at);
    copy_now(buffer, from.offset + at, pinned, 0, n);
    std::memcpy(bytes.data() + at, pinned.mapped, n);
  }
}

TimelineId VulkanAccelerator::make_timeline() {
  device_.check_alive();
  return timelines_.make();
}

uint64_t VulkanAccelerator::reached(TimelineId timeline) {
  device_.check_alive();
  return timelines_.reached(timeline);
}

void VulkanAccelerator::signal(Moment moment) {
  device_.check_alive();
  timelines_.signal(moment);
}

void VulkanAccelerator::wait(Moment moment, double seconds) {
  device_.check_alive();
  timelines_.wait(moment, seconds);
}

std::string VulkanAccelerator::why_not(const KernelCall& call) {
  device_.check_alive();
  try {
    const auto anywhere = [](const Place& place) -> uint64_t { return place ? 256 : 0; };
    for (const Dispatch& dispatch : dispatches_of(call, anywhere)) check_groups(device_, dispatch);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void VulkanAccelerator::submit(const CommandList& list) {
  device_.check_alive();
  let_leave();
  recorder_.submit(list, arithmetic_.fused, queues_);
}

void VulkanAccelerator::free(BufferId id) noexcept {
  Leaving leaving = {memory_.take(id), {}};
  try {
    const bool imported = leaving.buffer.imported;
    for (const WorkQueue& queue : queues_) leaving.submitted.push_back(queue.submitted());
    leaving_.push_back(std::move(leaving));
    // The caller may free imported memory as soon as this function returns. Commands that used the
    // memory have ended, so the queues report their end soon.
    if (imported && !device_.lost()) {
      for (WorkQueue& queue : queues_) static_cast<void>(queue.await_end(kLastSeconds / 2));
    }
    let_leave();
  } catch (const std::bad_alloc&) {
    // There is no memory to remember the buffer until its commands end. So this waits for them
    // here.
    for (WorkQueue& queue : queues_) static_cast<void>(queue.await_end(kLastSeconds / 2));
  } catch (const Error&) {
    // The device is lost; the next call reports that.
  }
}

void VulkanAccelerator::let_leave() {
  std::erase_if(leaving_, [this](const Leaving& one) { return ended(one.submitted); });
}

bool VulkanAccelerator::ended(const std::vector<uint64_t>& submitted) {
  for (size_t q = 0; q < submitted.size(); ++q) {
    if (queues_[q].ended() < submitted[q]) return false;
  }
  return true;
}

template <typename Record>
void VulkanAccelerator::run_now(WorkQueue& queue, const Record& record) {
  const VkCommandBuffer commands = queue.begin();
  queue.barrier(commands);
  record(commands);
  queue.end(commands);
  Batch batch;
  batch.commands = commands;
  queue.submit({&batch, 1});
  if (!queue.await_end(kOwnSeconds)) {
    device_.abandon();
    device_.lose(
        fmt::format("the accelerator {} did not finish a copy within {} s and counts as lost; see "
                    "the system's log, and start again",
                    device_.name(), kOwnSeconds));
  }
}

void VulkanAccelerator::copy_now(const DeviceBuffer& from, uint64_t from_offset,
                                 const DeviceBuffer& to, uint64_t to_offset, uint64_t bytes) {
  run_now(own_copies_, [&](VkCommandBuffer commands) {
    const VkBufferCopy region = {from.begin + from_offset, to.begin + to_offset, bytes};
    device_.calls().vkCmdCopyBuffer(commands, from.buffer.get(), to.buffer.get(), 1, &region);
  });
}

const DeviceBuffer& VulkanAccelerator::staging() {
  if (!staging_) staging_ = memory_.make_staging(kStagingBytes);
  return *staging_;
}

std::vector<uint32_t> VulkanAccelerator::run_probe(std::string_view name, bool fused,
                                                   std::span<const uint32_t> in, uint32_t count,
                                                   size_t out_words) {
  constexpr uint32_t kGroup = 64;
  struct Push {
    uint64_t in, out;
    uint32_t count, zero;
  };
  const Buffer from = allocate(in.size_bytes()), to = allocate(out_words * sizeof(uint32_t));
  write(from.at(), std::as_bytes(in));
  Dispatch dispatch;
  dispatch.shader = name;
  dispatch.set_push(Push{memory_.address(from.at()), memory_.address(to.at()), count, 0});
  dispatch.groups = {(count + kGroup - 1) / kGroup, 1, 1};
  const VkPipeline pipeline = pipelines_.of(dispatch, fused);
  run_now(queues_[0],
          [&](VkCommandBuffer commands) { pipelines_.record(commands, dispatch, pipeline); });
  std::vector<uint32_t> out(out_words);
  read(to.at(), std::as_writable_bytes(std::span(out)));
  return out;
}

}  // namespace hearth
