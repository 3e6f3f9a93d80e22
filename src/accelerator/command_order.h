// Finds which order of commands a list guarantees by its queues, its waits and its `ordered`
// commands.
//
// When a command begins, some commands of each queue are certain to have ended. They are always the
// queue's first ones: those before its last `ordered` command, and those before a signal that was
// waited for. So one number for each queue describes them.
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

// A wait that never ends.
struct StuckWait {
  size_t command = 0;
  Moment moment;
  size_t signals = SIZE_MAX;  // the command that gives the signal; SIZE_MAX: none does
  bool circle = false;        // whether that command waits for this one in turn
};

class CommandOrder {
 public:
  CommandOrder(const CommandList& list, const CommandsAround& around);

  // Whether a is certain to have ended when b begins. Both must be commands that begin.
  bool before(size_t a, size_t b) const;
  // Whether a's signals are certain to be given before b's. Both must be commands that begin.
  bool signals_before(size_t a, size_t b) const;
  // Whether the command ever begins.
  bool begins(size_t command) const { return begins_[command]; }

  // The commands that begin. Each stands after all commands that are certain to end before it
  // begins.
  const std::vector<size_t>& sequence() const { return sequence_; }
  // Returns those commands after `command` in the list that begin but have no certain order with
  // it.
  std::vector<size_t> unordered_with(size_t command) const;

  const std::vector<StuckWait>& stuck() const { return stuck_; }
  // Returns the signals of each timeline, by value.
  const std::map<TimelineId, std::vector<Signal>>& signals() const { return signals_; }
  // Returns the timeline's highest value that comes without a signal of the list; 0: none does.
  uint64_t comes(TimelineId timeline) const;

 private:
  void gather_signals();
  void walk();
  void begin(size_t command);
  // Returns the command that signals the moment first; SIZE_MAX where the moment comes without a
  // signal of the list, or no command signals it.
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
  std::vector<std::vector<size_t>> members_;  // by queue: its commands
  std::vector<uint32_t> position_;            // by command: its index in its queue
  std::vector<uint32_t> next_;                // by queue: how many of its commands begin
  // [commands][queues]: how many commands of the queue have ended when the command begins.
  std::vector<uint32_t> known_;
  std::vector<bool> begins_;
  std::vector<size_t> sequence_;
  std::vector<StuckWait> stuck_;
};

}  // namespace hearth
