// Finds the order of commands that the queues, the waits and `ordered` of a list make certain.
//
// Of a queue, the commands that have ended for certain when a command begins are always its first:
// those before the last `ordered` one, and those before a signal that was waited for. So a number
// for each queue says all.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "accelerator/check_commands.h"

namespace hearth {

struct Signal {
  uint64_t value = 0;
  size_t command = SIZE_MAX;
};

// A wait that is never over.
struct StuckWait {
  size_t command = 0;
  Moment moment;
  size_t signals = SIZE_MAX;  // the command that would signal it, if any
  bool circle = false;        // and that waits for this one
};

class CommandOrder {
 public:
  CommandOrder(const CommandList& list, const CommandsAround& around);

  // Whether a has ended, whatever happens, when b begins. Both begin.
  bool before(size_t a, size_t b) const;
  // Whether a's signals are given before b's, whatever happens. Both begin.
  bool signals_before(size_t a, size_t b) const;
  // Whether it begins at some time.
  bool begins(size_t command) const { return begins_[command]; }

  // The commands that begin, each behind all that are before it.
  const std::vector<size_t>& sequence() const { return sequence_; }
  // The commands behind `command` in the list that begin and are neither before nor behind it.
  std::vector<size_t> unordered_with(size_t command) const;

  const std::vector<StuckWait>& stuck() const { return stuck_; }
  // Returns the signals of each timeline, by value.
  const std::map<TimelineId, std::vector<Signal>>& signals() const { return signals_; }
  // The most that others signal; 0: none do.
  uint64_t comes(TimelineId timeline) const;

 private:
  void gather_signals();
  void walk();
  void begin(size_t command);
  // Returns the command that signals it first; SIZE_MAX where others do, or nobody.
  size_t signaller(const Moment& moment) const;
  bool is_over(const Moment& moment) const;
  void find_stuck();
  bool leads_to(uint32_t from, uint32_t queue, std::vector<bool>& seen) const;

  uint32_t* known(size_t command) { return known_.data() + command * queues_; }
  const uint32_t* known(size_t command) const { return known_.data() + command * queues_; }
  uint32_t queue(size_t command) const { return list_.commands[command].queue; }

  const CommandList& list_;
  uint32_t queues_;
  std::map<TimelineId, uint64_t> comes_;
  std::map<TimelineId, std::vector<Signal>> signals_;
  std::vector<std::vector<size_t>> members_;  // of each queue
  std::vector<uint32_t> position_;            // in its queue
  std::vector<uint32_t> next_;                // of each queue: how many of it begin
  std::vector<uint32_t> known_;  // [commands][queues]: how many have ended when it begins
  std::vector<bool> begins_;
  std::vector<size_t> sequence_;
  std::vector<StuckWait> stuck_;
};

}  // namespace hearth
