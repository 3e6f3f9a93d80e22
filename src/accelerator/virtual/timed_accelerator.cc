#include "accelerator/virtual/timed_accelerator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "base/bytes_text.h"
#include "base/error.h"

namespace hearth {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kGlance = 1e-6;
// Tasks whose ends differ by less than this part of their time end together.
constexpr double kTogether = 1e-9;

double rate_of(const TransferRate& rate) { return rate.per_second.median; }

}  // namespace

TimedAccelerator::TimedAccelerator(MeasuredAccelerator described, const TimedOptions& options)
    : facts_(std::move(described.facts)),
      rates_(std::move(described.rates)),
      times_(rates_),
      options_(options),
      queues_(facts_.queues.size()) {
  if (facts_.free_bytes == 0) facts_.free_bytes = facts_.memory_bytes;
  if (!rates_.import_to || !rates_.import_from) facts_.import_alignment = 0;
}

void TimedAccelerator::check_alive() const {
  if (lost_) fail(ErrorCode::kResource, "{} is lost", facts_.name);
}

Buffer TimedAccelerator::allocate(uint64_t bytes) {
  check_alive();
  const uint64_t size = std::max<uint64_t>(bytes, 1);
  if (size > facts_.allocation_bytes || size > facts_.free_bytes) {
    fail(ErrorCode::kResource, "{} has {} free, {} of it in one piece, less than the {} needed",
         facts_.name, bytes_text(facts_.free_bytes), bytes_text(facts_.allocation_bytes),
         bytes_text(size));
  }
  facts_.free_bytes -= size;
  memory_[next_buffer_] = {size, false};
  return {*this, next_buffer_++, size};
}

Buffer TimedAccelerator::import(std::span<std::byte> memory) {
  check_alive();
  if (facts_.import_alignment == 0) {
    fail(ErrorCode::kUnsupported, "{} cannot import memory", facts_.name);
  }
  memory_[next_buffer_] = {memory.size(), true};
  return {*this, next_buffer_++, memory.size()};
}

void TimedAccelerator::free(BufferId id) noexcept {
  const auto found = memory_.find(id);
  if (found == memory_.end()) return;
  if (!found->second.imported) facts_.free_bytes += found->second.size;
  memory_.erase(found);
}

void TimedAccelerator::check_place(const Place& place) const {
  const auto found = memory_.find(place.buffer);
  if (found == memory_.end()) {
    fail(ErrorCode::kRequest, "buffer {} was never made, or was freed", place.buffer);
  }
  if (place.offset < found->second.size) return;
  fail(ErrorCode::kRequest, "byte {} of buffer {} is out of range: the buffer has {} bytes",
       place.offset, place.buffer, found->second.size);
}

bool TimedAccelerator::is_imported(const Place& place) const {
  const auto found = memory_.find(place.buffer);
  return found != memory_.end() && found->second.imported;
}

void TimedAccelerator::write(Place to, std::span<const std::byte> bytes) {
  check_alive();
  if (bytes.empty()) return;
  check_place(to + (bytes.size() - 1));
  bytes_in_ += bytes.size();
  now_ += static_cast<double>(bytes.size()) / rate_of(rates_.write);
}

void TimedAccelerator::read(Place from, std::span<std::byte> bytes) {
  check_alive();
  if (bytes.empty()) return;
  check_place(from + (bytes.size() - 1));
  bytes_out_ += bytes.size();
  now_ += static_cast<double>(bytes.size()) / rate_of(rates_.read);
}

TimelineId TimedAccelerator::make_timeline() {
  check_alive();
  timelines_.push_back(0);
  return static_cast<TimelineId>(timelines_.size() - 1);
}

uint64_t& TimedAccelerator::timeline(TimelineId id) {
  if (id >= timelines_.size()) fail(ErrorCode::kRequest, "there is no timeline {}", id);
  return timelines_[id];
}

uint64_t TimedAccelerator::reached(TimelineId id) {
  check_alive();
  now_ += kGlance;
  run(now_, nullptr);
  return timeline(id);
}

void TimedAccelerator::signal(Moment moment) {
  check_alive();
  run(now_, nullptr);
  timeline(moment.timeline) = moment.value;
}

// Waits on the host's clock. Half of a submission's time passes before its commands begin, and half
// after they have ended.
void TimedAccelerator::wait(Moment moment, double seconds) {
  check_alive();
  run(now_, nullptr);
  if (timeline(moment.timeline) >= moment.value) return;
  const bool came = run(now_ + seconds, &moment);
  now_ = std::max(now_, clock_ + rates_.submission_nanoseconds.median * 0.5e-9);
  if (came) return;
  lost_ = true;
  fail(ErrorCode::kResource,
       "{} took longer than {:.0f} s: timeline {} stays at {} instead of reaching {}", facts_.name,
       seconds, moment.timeline, timelines_[moment.timeline], moment.value);
}

std::string TimedAccelerator::why_not(const KernelCall& call) {
  try {
    check_call(call);
  } catch (const Error& error) {
    return error.what();
  }
  if (const auto* product = std::get_if<GemmCall>(&call)) {
    for (const ProductRate& rate : rates_.products) {
      if (rate.kind == product->spec.kind && !rate.refused.empty()) return rate.refused;
    }
  }
  for (const KernelRate& rate : rates_.kernels) {
    if (!rate.refused.empty() && rate.contract == contract_name(call)) return rate.refused;
  }
  return "";
}

TimedAccelerator::Task TimedAccelerator::task_of(const Command& command) const {
  Task task{.submitted = now_ + rates_.submission_nanoseconds.median * 0.5e-9,
            .ordered = command.ordered,
            .waits = command.waits,
            .signals = command.signals};
  if (const auto* call = std::get_if<KernelCall>(&command.work)) {
    task.left = times_.seconds(*call) + times_.command_seconds();
    return task;
  }
  const auto& copy = std::get<CopyBytes>(command.work);
  const auto bytes = static_cast<double>(copy.bytes);
  const bool in = is_imported(copy.from), out = is_imported(copy.to);
  double rate = rate_of(rates_.memory) / 2;
  if (in != out) rate = rate_of(in ? *rates_.import_to : *rates_.import_from);
  if (in != out) task.host_bytes = rate;
  if (in != out && facts_.queues.size() > 1) task.share = in ? Share::kLinkIn : Share::kLinkOut;
  task.left = bytes / rate + times_.command_seconds();
  return task;
}

void TimedAccelerator::submit(const CommandList& list) {
  check_alive();
  run(now_, nullptr);
  for (const Command& command : list.commands) {
    if (command.queue >= queues_.size()) {
      fail(ErrorCode::kRequest, "there is no queue {}", command.queue);
    }
    check_command(command);
    for (const Moment& moment : command.waits) timeline(moment.timeline);
    for (const Moment& moment : command.signals) timeline(moment.timeline);
    if (const auto* copy = std::get_if<CopyBytes>(&command.work)) {
      check_place(copy->from + (copy->bytes - 1));
      check_place(copy->to + (copy->bytes - 1));
      if (is_imported(copy->from)) bytes_in_ += copy->bytes;
      if (is_imported(copy->to)) bytes_out_ += copy->bytes;
    }
    queues_[command.queue].push_back(task_of(command));
  }
}

bool TimedAccelerator::may_begin(const Task& task) const {
  return task.submitted <= clock_ && std::ranges::all_of(task.waits, [&](const Moment& moment) {
           return timelines_[moment.timeline] >= moment.value;
         });
}

// Begins the unfinished tasks of each queue in order. It stops at a task that must wait for a
// moment, or that is ordered after an unfinished task.
void TimedAccelerator::begin_ready() {
  for (std::deque<Task>& queue : queues_) {
    bool all_ended = true;
    for (Task& task : queue) {
      if (!task.begun) {
        if ((task.ordered && !all_ended) || !may_begin(task)) break;
        task.begun = true;
        active_.push_back(&task);
      }
      all_ended = all_ended && task.ended;
    }
  }
}

void TimedAccelerator::set_speeds() {
  std::array<double, 3> sharing{};
  for (const Task* task : active_) ++sharing[static_cast<size_t>(task->share)];
  double host = 0;
  for (Task* task : active_) {
    task->speed = 1 / sharing[static_cast<size_t>(task->share)];
    host += task->host_bytes * task->speed;
  }
  if (options_.host_bytes_per_second <= 0 || host <= 0) return;
  const double there = options_.host_bytes_per_second;
  // However much of a shared memory others take, at least a sixteenth is left for the accelerator.
  const double left = std::max(there - options_.host_taken, there / 16);
  if (host <= left) return;
  for (Task* task : active_) {
    if (task->host_bytes > 0) task->speed *= left / host;
  }
}

void TimedAccelerator::pass(double seconds) {
  clock_ += seconds;
  bool computes = false, copies = false;
  for (Task* task : active_) {
    (task->host_bytes > 0 ? copies : computes) = true;
    task->left -= seconds * task->speed;
    if (task->left <= kTogether * seconds * task->speed) task->ended = true;
  }
  computing_seconds_ += computes ? seconds : 0;
  copying_seconds_ += copies ? seconds : 0;
  std::erase_if(active_, [](const Task* task) { return task->ended; });
  for (std::deque<Task>& queue : queues_) end_front(queue);
}

// Removes the first tasks of the queue that have ended, and gives their signals.
void TimedAccelerator::end_front(std::deque<Task>& queue) {
  while (!queue.empty() && queue.front().ended) {
    for (const Moment& moment : queue.front().signals) {
      timelines_[moment.timeline] = std::max(timelines_[moment.timeline], moment.value);
    }
    queue.pop_front();
  }
}

bool TimedAccelerator::run(double until, const Moment* moment) {
  const auto came = [&] {
    return moment != nullptr && timelines_[moment->timeline] >= moment->value;
  };
  while (!came()) {
    begin_ready();
    set_speeds();
    double next = kNever;
    for (const Task* task : active_) next = std::min(next, task->left / task->speed);
    for (const std::deque<Task>& queue : queues_) {
      const auto waits = std::ranges::find(queue, false, &Task::begun);
      if (waits == queue.end() || waits->submitted <= clock_) continue;
      next = std::min(next, waits->submitted - clock_);
    }
    if (next == kNever || clock_ + next > until) {
      if (until > clock_) pass(until - clock_);
      return came();
    }
    pass(next);
  }
  return true;
}

}  // namespace hearth
