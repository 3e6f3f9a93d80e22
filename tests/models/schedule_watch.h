// Watches the turns that a scheduler gives, step by step, for the fairness that scheduler.h
// promises.
#pragma once

#include <map>
#include <string>
#include <tuple>

#include "engine/scheduler.h"

namespace hearth {

class ScheduleWatch {
 public:
  // Says in words what is unfair about the last step; empty where nothing is. `preempted`:
  // sequences lost their place in it, so that those who are left do not show all who had a turn.
  std::string look(const Scheduler& scheduler, bool preempted);

  uint64_t held_up() const { return held_up_; }
  uint64_t waits() const { return waits_; }

 private:
  // {decodes, request, choice}: a prompt that begins to decode starts anew.
  using Key = std::tuple<bool, uint64_t, uint32_t>;
  static Key key(const Scheduler::Turn& turn) { return {turn.decodes, turn.request, turn.choice}; }

  std::string count_waits(const std::vector<Scheduler::Turn>& turns);
  void forget_others(const std::vector<Scheduler::Turn>& turns);

  // The turns that others of its kind have had meanwhile, for each sequence that waits.
  std::map<Key, std::map<Key, int>> waiting_;
  uint64_t held_up_ = 0, waits_ = 0;
};

}  // namespace hearth
