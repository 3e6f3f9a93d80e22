#include "accelerator/virtual/virtual_accelerator.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include "accelerator/virtual/run_call.h"
#include "base/bytes_text.h"
#include "base/check.h"
#include "base/error.h"

namespace hearth {
namespace {

constexpr uint64_t kAlignment = 256;
constexpr uint64_t kImportAlignment = 4096;
constexpr int kPoison = 0xff;  // NaN as f32, f16 and bf16

AcceleratorFacts facts_for(const VirtualOptions& options) {
  if (options.facts) {
    AcceleratorFacts facts = *options.facts;
    if (facts.free_bytes == 0) facts.free_bytes = facts.memory_bytes;
    if (facts.import_alignment != 0) facts.import_alignment = kImportAlignment;
    return facts;
  }
  HEARTH_CHECK(options.queues == 1 || options.queues == 2, "it has one queue or two");
  AcceleratorFacts facts = {
      .name = "virtual accelerator",
      .driver = "the reference kernels",
      .api = "none",
      .kind = AcceleratorKind::kSoftware,
      .memory_bytes = options.memory_bytes,
      .free_bytes = options.memory_bytes,
      .allocation_bytes = std::min(options.allocation_bytes, options.memory_bytes),
      .import_alignment = options.imports ? kImportAlignment : 0,
      .queues = {{.computes = true}},
      .arithmetic = "the processor's fma",
      .lacks = {}};
  if (options.queues == 2) facts.queues.push_back({.computes = options.second_computes});
  return facts;
}

void release(std::byte* bytes) { ::operator delete[](bytes, std::align_val_t{kAlignment}); }

}  // namespace

VirtualAccelerator::VirtualAccelerator(const VirtualOptions& options)
    : facts_(facts_for(options)), random_(options.seed), queues_(facts_.queues.size()) {}

VirtualAccelerator::~VirtualAccelerator() {
  for (const auto& [id, memory] : memory_) {
    if (!memory.imported) release(memory.bytes);
  }
}

void VirtualAccelerator::check_alive() const {
  if (lost_) fail(ErrorCode::kResource, "the virtual accelerator is lost");
}

Buffer VirtualAccelerator::allocate(uint64_t bytes) {
  check_alive();
  const uint64_t size = std::max<uint64_t>(bytes, 1);
  if (size > facts_.free_bytes || size > facts_.allocation_bytes) {
    fail(ErrorCode::kResource,
         "the virtual accelerator has {} free, {} in one piece, less than the {} needed",
         bytes_text(facts_.free_bytes), bytes_text(facts_.allocation_bytes), bytes_text(size));
  }
  auto* memory =
      static_cast<std::byte*>(::operator new[](size, std::align_val_t{kAlignment}, std::nothrow));
  if (memory == nullptr) {
    fail(ErrorCode::kResource, "not enough memory for {} of the virtual accelerator",
         bytes_text(size));
  }
  std::memset(memory, kPoison, size);
  facts_.free_bytes -= size;
  memory_[next_buffer_] = {memory, size, false};
  return {*this, next_buffer_++, size};
}

Buffer VirtualAccelerator::import(std::span<std::byte> memory) {
  check_alive();
  if (memory.empty() || memory.size() % kImportAlignment != 0 ||
      reinterpret_cast<uintptr_t>(memory.data()) % kImportAlignment != 0) {
    fail(ErrorCode::kUnsupported, "imported memory must begin and end at multiples of {}",
         kImportAlignment);
  }
  memory_[next_buffer_] = {memory.data(), memory.size(), true};
  return {*this, next_buffer_++, memory.size()};
}

void VirtualAccelerator::free(BufferId id) noexcept {
  try {
    while (!lost_ && step()) {
    }
  } catch (const std::exception&) {
    lost_ = true;
  }
  const auto found = memory_.find(id);
  if (found == memory_.end()) return;
  if (!found->second.imported) {
    std::memset(found->second.bytes, kPoison, found->second.size);
    facts_.free_bytes += found->second.size;
    release(found->second.bytes);
  }
  memory_.erase(found);
}

std::byte* VirtualAccelerator::at(const Place& place) const {
  const auto found = memory_.find(place.buffer);
  if (found == memory_.end()) {
    fail(ErrorCode::kRequest, "buffer {} was never made, or was freed", place.buffer);
  }
  return found->second.bytes + place.offset;
}

void VirtualAccelerator::check_access(const Access& access) const {
  at(access.at);
  const uint64_t size = memory_.at(access.at.buffer).size;
  if (end_of(access) <= size) return;
  fail(ErrorCode::kRequest, "byte {} of buffer {} is out of range: the buffer has {} bytes",
       end_of(access) - 1, access.at.buffer, size);
}

void VirtualAccelerator::check_idle(const Access& host) const {
  for (const std::deque<Task>& queue : queues_) {
    for (const Task& task : queue) {
      if (task.ended) continue;
      for (const Access& access : task.accesses) {
        if ((!access.writes && !host.writes) || !overlap(access, host)) continue;
        fail(ErrorCode::kRequest, "the host {} bytes of buffer {} that a {} in progress works on",
             host.writes ? "writes" : "reads", host.at.buffer, work_name(task.command));
      }
    }
  }
}

void VirtualAccelerator::write(Place to, std::span<const std::byte> bytes) {
  check_alive();
  if (bytes.empty()) return;
  const Access access = {.at = to, .bytes = bytes.size(), .writes = true};
  check_access(access);
  check_idle(access);
  std::memcpy(at(to), bytes.data(), bytes.size());
}

void VirtualAccelerator::read(Place from, std::span<std::byte> bytes) {
  check_alive();
  if (bytes.empty()) return;
  const Access access = {.at = from, .bytes = bytes.size()};
  check_access(access);
  check_idle(access);
  std::memcpy(bytes.data(), at(from), bytes.size());
}

TimelineId VirtualAccelerator::make_timeline() {
  check_alive();
  timelines_.push_back(0);
  return static_cast<TimelineId>(timelines_.size() - 1);
}

void VirtualAccelerator::check_timeline(TimelineId timeline) const {
  if (timeline >= timelines_.size()) {
    fail(ErrorCode::kRequest, "there is no timeline {}", timeline);
  }
}

uint64_t VirtualAccelerator::reached(TimelineId timeline) {
  check_alive();
  check_timeline(timeline);
  step();
  steps_by_chance();
  return timelines_[timeline];
}

void VirtualAccelerator::reach(const Moment& moment) {
  uint64_t& value = timelines_[moment.timeline];
  if (moment.value <= value) {
    fail(ErrorCode::kRequest, "timeline {} is at {} and cannot be set to {}", moment.timeline,
         value, moment.value);
  }
  value = moment.value;
}

void VirtualAccelerator::signal(Moment moment) {
  check_alive();
  check_timeline(moment.timeline);
  reach(moment);
  steps_by_chance();
}

void VirtualAccelerator::wait(Moment moment, double) {
  check_alive();
  check_timeline(moment.timeline);
  steps_by_chance();
  while (timelines_[moment.timeline] < moment.value) {
    if (step()) continue;
    lost_ = true;
    fail(ErrorCode::kResource,
         "timeline {} stays at {} instead of reaching {}: no task can continue", moment.timeline,
         timelines_[moment.timeline], moment.value);
  }
}

std::string VirtualAccelerator::why_not(const KernelCall& call) {
  try {
    check_call(call);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void VirtualAccelerator::check_command_here(const Command& command) const {
  if (command.queue >= queues_.size()) {
    fail(ErrorCode::kRequest, "there is no queue {}", command.queue);
  }
  check_command(command);
  if (std::holds_alternative<KernelCall>(command.work) && !facts_.queues[command.queue].computes) {
    fail(ErrorCode::kRequest, "queue {} only copies, and cannot run {}", command.queue,
         work_name(command));
  }
  for (const Access& access : accesses_of(command)) check_access(access);
  for (const Moment& moment : command.waits) check_timeline(moment.timeline);
  for (const Moment& moment : command.signals) check_timeline(moment.timeline);
}

void VirtualAccelerator::submit(const CommandList& list) {
  check_alive();
  for (const Command& command : list.commands) check_command_here(command);
  for (const Command& command : list.commands) {
    queues_[command.queue].push_back({command, accesses_of(command)});
  }
  steps_by_chance();
}

// Returns the commands of each queue that can run now. They end before one that must wait for a
// moment, or that is ordered after an unfinished one.
std::vector<VirtualAccelerator::Ready> VirtualAccelerator::ready() const {
  std::vector<Ready> ready;
  for (size_t q = 0; q < queues_.size(); ++q) {
    bool all_ended = true;
    for (size_t i = 0; i < queues_[q].size(); ++i) {
      const Task& task = queues_[q][i];
      if (task.ended) continue;
      const bool waits = !std::ranges::all_of(task.command.waits, [&](const Moment& moment) {
        return timelines_[moment.timeline] >= moment.value;
      });
      if (waits || (task.command.ordered && !all_ended)) break;
      ready.push_back({q, i});
      all_ended = false;
    }
  }
  return ready;
}

bool VirtualAccelerator::step() {
  const std::vector<Ready> all = ready();
  if (all.empty()) return false;
  const Ready one = all[random_() % all.size()];
  Task& task = queues_[one.queue][one.task];
  try {
    run(task.command);
    task.ended = true;
    end_front(queues_[one.queue]);
  } catch (const Error&) {
    lost_ = true;
    throw;
  }
  return true;
}

// Runs a random number of commands. With a chance of 1 in 4 it runs none, with the same chance all
// that can run, and otherwise up to 7.
void VirtualAccelerator::steps_by_chance() {
  const uint64_t chance = random_() % 4;
  const uint64_t steps = chance == 0 ? 0 : chance == 1 ? UINT64_MAX : random_() % 8;
  for (uint64_t i = 0; i < steps && step(); ++i) {
  }
}

void VirtualAccelerator::run(const Command& command) {
  if (const auto* call = std::get_if<KernelCall>(&command.work)) {
    return run_call(*call, [this](const Place& place) { return at(place); });
  }
  const auto& copy = std::get<CopyBytes>(command.work);
  std::memcpy(at(copy.to), at(copy.from), copy.bytes);
}

// Removes the first commands of the queue that have ended, and gives their signals.
void VirtualAccelerator::end_front(std::deque<Task>& queue) {
  while (!queue.empty() && queue.front().ended) {
    const Command ended = std::move(queue.front().command);
    queue.pop_front();
    for (const Moment& moment : ended.signals) reach(moment);
  }
}

}  // namespace hearth
