#include "accelerator/vulkan/recorder.h"

#include <algorithm>
#include <exception>
#include <map>

#include "accelerator/place.h"
#include "base/error.h"

namespace hearth {

void Recorder::submit(const CommandList& list, bool fused, std::vector<WorkQueue>& queues) {
  check_signals(list);
  const std::vector<Prepared> prepared = prepare(list, fused, queues.size());
  std::vector<Lane> lanes(queues.size());
  size_t submitted = 0;
  try {
    for (const Prepared& one : prepared) {
      record(one, queues[one.command->queue], &lanes[one.command->queue]);
    }
    for (size_t q = 0; q < lanes.size(); ++q) {
      if (lanes[q].open) queues[q].end(lanes[q].batches.back().commands);
    }
    for (; submitted < lanes.size(); ++submitted) {
      if (!lanes[submitted].batches.empty()) queues[submitted].submit(lanes[submitted].batches);
    }
  } catch (const std::exception& error) {
    for (size_t q = submitted; q < lanes.size(); ++q) {
      for (const Batch& batch : lanes[q].batches) {
        if (batch.commands != VK_NULL_HANDLE) queues[q].give_back(batch.commands);
      }
    }
    bool begun = false;
    for (size_t q = 0; q < submitted; ++q) begun |= !lanes[q].batches.empty();
    // Queues that have begun their part of the list may wait for the others' parts for ever.
    if (begun) device_.lose(error.what());
    throw;
  }
  for (const Command& command : list.commands) {
    for (const Moment& moment : command.signals) timelines_.promise(moment);
  }
}

std::vector<Recorder::Prepared> Recorder::prepare(const CommandList& list, bool fused,
                                                  size_t queues) {
  std::vector<Prepared> all;
  all.reserve(list.commands.size());
  for (const Command& command : list.commands) {
    if (command.queue >= queues) {
      fail(ErrorCode::kRequest, "a command is for queue {}, but the accelerator {} has only {}",
           command.queue, device_.name(), queues);
    }
    for (const Moment& moment : command.waits) static_cast<void>(timelines_.at(moment.timeline));
    Prepared& one = all.emplace_back(Prepared{&command});
    if (const auto* copy = std::get_if<CopyBytes>(&command.work)) {
      check_copy(*copy);
      continue;
    }
    const auto& call = std::get<KernelCall>(command.work);
    if (!device_.physical().facts.queues[command.queue].computes) {
      fail(ErrorCode::kRequest, "{} cannot run in queue {}, which only copies; use queue 0",
           contract_name(call), command.queue);
    }
    check_kernel(call);
    one.dispatches = dispatches_of(call, [this](const Place& place) -> uint64_t {
      return place ? memory_.address(place) : 0;
    });
    for (const Dispatch& dispatch : one.dispatches) {
      check_groups(device_, dispatch);
      one.pipelines.push_back(pipelines_.of(dispatch, fused));
    }
  }
  return all;
}

void Recorder::check_copy(const CopyBytes& copy) const {
  static_cast<void>(memory_.at(copy.from, copy.bytes));
  static_cast<void>(memory_.at(copy.to, copy.bytes));
  const Access from = {copy.from, copy.bytes, copy.bytes}, to = {copy.to, copy.bytes, copy.bytes};
  if (overlap(from, to)) {
    fail(ErrorCode::kRequest,
         "a copy of {} bytes in buffer {} overlaps itself; copy through another buffer", copy.bytes,
         copy.from.buffer);
  }
}

void Recorder::check_kernel(const KernelCall& call) const {
  check_call(call);
  for (const Access& access : accesses_of(call)) {
    if (access.rows == 0 || access.bytes == 0) continue;
    const uint64_t bytes = (access.rows - 1) * access.stride + access.bytes;
    static_cast<void>(memory_.address(access.at, bytes));
  }
}

void Recorder::check_signals(const CommandList& list) const {
  std::map<TimelineId, uint64_t> promised;
  for (const Command& command : list.commands) {
    for (const Moment& moment : command.signals) {
      auto [it, first] = promised.try_emplace(moment.timeline, 0);
      if (first) {
        it->second =
            std::max(timelines_.promised(moment.timeline), timelines_.reached(moment.timeline));
      }
      if (moment.value <= it->second) {
        fail(ErrorCode::kRequest,
             "a command signals {} on timeline {} after {}; its values only grow", moment.value,
             moment.timeline, it->second);
      }
      it->second = moment.value;
    }
  }
}

void Recorder::record(const Prepared& prepared, WorkQueue& queue, Lane* lane) {
  const Command& command = *prepared.command;
  if (lane->open && !command.waits.empty()) {
    lane->open = false;
    queue.end(lane->batches.back().commands);
  }
  if (!lane->open) {
    Batch& batch = lane->batches.emplace_back();
    batch.commands = queue.begin();
    for (const Moment& moment : command.waits) {
      batch.waits.push_back(semaphore_info(timelines_.at(moment.timeline), moment.value));
    }
    lane->open = true;
  }
  Batch& batch = lane->batches.back();
  // The host may have written bytes before it signalled. A command after that wait must see them.
  if (command.ordered) {
    queue.barrier(batch.commands);
  } else if (!command.waits.empty()) {
    queue.host_barrier(batch.commands);
  }
  record_work(prepared, batch.commands);
  if (command.signals.empty()) return;
  for (const Moment& moment : command.signals) {
    batch.signals.push_back(semaphore_info(timelines_.at(moment.timeline), moment.value));
  }
  lane->open = false;
  queue.end(batch.commands);
}

void Recorder::record_work(const Prepared& prepared, VkCommandBuffer commands) const {
  if (const auto* copy = std::get_if<CopyBytes>(&prepared.command->work)) {
    if (copy->bytes == 0) return;
    const DeviceBuffer& from = memory_.at(copy->from, copy->bytes);
    const DeviceBuffer& to = memory_.at(copy->to, copy->bytes);
    const VkBufferCopy region = {from.begin + copy->from.offset, to.begin + copy->to.offset,
                                 copy->bytes};
    device_.calls().vkCmdCopyBuffer(commands, from.buffer.get(), to.buffer.get(), 1, &region);
    return;
  }
  for (size_t i = 0; i < prepared.dispatches.size(); ++i) {
    pipelines_.record(commands, prepared.dispatches[i], prepared.pipelines[i]);
  }
}

}  // namespace hearth
