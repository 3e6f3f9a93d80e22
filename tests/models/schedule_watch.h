// Watches the turns that a scheduler gives in each step, and checks the fairness that scheduler.h
// promises.
#pragma once

#include <map>
#include <string>
#include <tuple>

#include "engine/scheduler.h"

namespace hearth {

class ScheduleWatch {
 public:
  // Returns a sentence about any unfairness in the last step; empty if there is none. `preempted`:
  // sequences lost their place in the step, so that the remaining ones do not show all turns.
  std::string look(const Scheduler& scheduler, bool preempted);

  uint64_t held_up() const { return held_up_; }
  uint64_t waits() const { return waits_; }

 private:
  // The key is {decodes, request, choice}. A prompt that begins to decode gets a new key.
  using Key = std::tuple<bool, uint64_t, uint32_t>;
  static Key key(const Scheduler::Turn& turn) { return {turn.decodes, turn.request, turn.choice}; }

  std::string count_waits(const std::vector<Scheduler::Turn>& turns);
  void forget_others(const std::vector<Scheduler::Turn>& turns);

  // The turns that other sequences of its phase have had while a sequence waits, by the one that
  // waits.
  std::map<Key, std::map<Key, int>> waiting_;
  uint64_t held_up_ = 0, waits_ = 0;
};

}  // namespace hearth
