#include "schedule_watch.h"

#include <fmt/format.h>

#include <algorithm>

namespace hearth {

std::string ScheduleWatch::look(const Scheduler& scheduler, bool preempted) {
  const std::vector<Scheduler::Turn>& turns = scheduler.last_turns();
  forget_others(turns);
  std::string unfair = count_waits(turns);
  auto prompt_waits = [](const Scheduler::Turn& t) {
    return !t.decodes && !t.held_up && t.tokens == 0;
  };
  bool prompts = std::ranges::any_of(
      turns, [](const Scheduler::Turn& t) { return !t.decodes && t.tokens > 0; });
  if (unfair.empty() && !preempted && !prompts && std::ranges::any_of(turns, prompt_waits)) {
    unfair = "prompts wait and none has a turn";
  }
  return unfair;
}

std::string ScheduleWatch::count_waits(const std::vector<Scheduler::Turn>& turns) {
  for (const Scheduler::Turn& waiter : turns) {
    if (waiter.tokens > 0 || waiter.held_up || waiter.awaits) {
      held_up_ += waiter.held_up;
      waiting_.erase(key(waiter));
      continue;
    }
    ++waits_;
    for (const Scheduler::Turn& other : turns) {
      if (other.decodes != waiter.decodes || other.tokens == 0) continue;
      if (++waiting_[key(waiter)][key(other)] < 2) continue;
      return fmt::format("{} {}.{} waits while {}.{} has two turns",
                         waiter.decodes ? "sequence" : "prompt", waiter.request, waiter.choice,
                         other.request, other.choice);
    }
  }
  return {};
}

void ScheduleWatch::forget_others(const std::vector<Scheduler::Turn>& turns) {
  std::erase_if(waiting_, [&](const auto& entry) {
    return std::ranges::none_of(turns, [&](const auto& turn) { return key(turn) == entry.first; });
  });
}

}  // namespace hearth
