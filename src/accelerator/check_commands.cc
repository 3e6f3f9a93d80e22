#include "accelerator/check_commands.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "accelerator/byte_ranges.h"
#include "accelerator/command_order.h"
#include "base/error.h"

namespace hearth {
namespace {

// A write by a command.
struct Write {
  size_t turn = 0;  // the command's index in the sequence
  size_t command = 0;
  Access access;
};

// The writes to one buffer.
struct Written {
  ByteRanges filled;          // written before the list
  std::vector<Write> writes;  // in ascending order of turn
};

class CommandChecker {
 public:
  CommandChecker(const CommandList& list, const CommandsAround& around)
      : list_(list), around_(around), order_(list, around), accesses_(list.commands.size()) {}

  std::vector<CommandFault> faults() {
    check_each();
    check_waits();
    for (const auto& [timeline, signals] : order_.signals()) check_timeline(timeline, signals);
    for (size_t command : order_.sequence()) check_conflicts(command);
    check_reads();
    std::ranges::stable_sort(faults_, {}, &CommandFault::command);
    // A call that reads the same bytes as two of its inputs, for example a sum, would report a
    // fault twice.
    const auto twice =
        std::unique(faults_.begin(), faults_.end(),
                    [](const CommandFault& a, const CommandFault& b) { return a.text == b.text; });
    faults_.erase(twice, faults_.end());
    return std::move(faults_);
  }

 private:
  template <typename... Args>
  void report(size_t command, size_t other, fmt::format_string<Args...> format, Args&&... args) {
    if (full()) return;
    faults_.push_back(
        {command, other, name(command) + " " + fmt::format(format, std::forward<Args>(args)...)});
  }
  bool full() const { return faults_.size() == kMaxFaults; }
  // Returns "command 7 (gemm q8_0)".
  std::string name(size_t command) const {
    return fmt::format("command {} ({})", command, work_name(list_.commands[command]));
  }

  void check_each();
  void check_waits();
  void check_timeline(TimelineId timeline, const std::vector<Signal>& signals);
  void check_conflicts(size_t command);
  void check_conflict(size_t command, size_t other);
  void check_reads();
  void check_read(size_t turn, size_t command, const Access& read, const Written& written);

  const CommandList& list_;
  const CommandsAround& around_;
  CommandOrder order_;
  std::vector<std::vector<Access>> accesses_;  // of each command, writes first
  std::vector<CommandFault> faults_;
};

void CommandChecker::check_each() {
  for (size_t i = 0; i < list_.commands.size(); ++i) {
    const Command& command = list_.commands[i];
    if (command.queue >= around_.queues) {
      report(i, SIZE_MAX, "is of queue {}, and there are {}", command.queue, around_.queues);
    }
    try {
      check_command(command);
      accesses_[i] = accesses_of(command);
      std::stable_partition(accesses_[i].begin(), accesses_[i].end(),
                            [](const Access& access) { return access.writes; });
    } catch (const Error& error) {
      report(i, SIZE_MAX, "is refused: {}", error.what());
    }
  }
}

void CommandChecker::check_waits() {
  for (const StuckWait& wait : order_.stuck()) {
    const auto& [timeline, value] = wait.moment;
    if (wait.signals == SIZE_MAX) {
      report(wait.command, SIZE_MAX, "waits for {} of timeline {}, which nobody signals", value,
             timeline);
    } else if (wait.signals == wait.command) {
      report(wait.command, SIZE_MAX, "waits for {} of timeline {}, which it signals itself", value,
             timeline);
    } else if (wait.circle) {
      report(wait.command, wait.signals,
             "waits for {} of timeline {}, which {} signals, and that waits for this one: a circle",
             value, timeline, name(wait.signals));
    } else {
      report(wait.command, wait.signals,
             "waits for {} of timeline {}, which {} signals, and that never begins", value,
             timeline, name(wait.signals));
    }
  }
}

void CommandChecker::check_timeline(TimelineId timeline, const std::vector<Signal>& signals) {
  const uint64_t comes = order_.comes(timeline);
  for (size_t i = 0; i < signals.size(); ++i) {
    const auto& [value, command] = signals[i];
    if (!order_.begins(command)) continue;
    if (value <= comes) {
      report(command, SIZE_MAX, "signals {} of timeline {}, which has {} by others", value,
             timeline, comes);
    }
    if (i == 0 || !order_.begins(signals[i - 1].command)) continue;
    const Signal& least = signals[i - 1];
    if (least.command == command) {
      report(command, SIZE_MAX, "signals timeline {} twice", timeline);
    } else if (least.value == value) {
      report(command, least.command, "signals {} of timeline {}, as {} does", value, timeline,
             name(least.command));
    } else if (order_.signals_before(command, least.command)) {
      report(least.command, command, "signals {} of timeline {}, behind the {} of {}", least.value,
             timeline, value, name(command));
    } else if (!order_.signals_before(least.command, command)) {
      report(command, least.command, "signals {} of timeline {}, in no order with the {} of {}",
             value, timeline, least.value, name(least.command));
    }
  }
}

void CommandChecker::check_conflicts(size_t command) {
  if (accesses_[command].empty() || full()) return;
  for (size_t other : order_.unordered_with(command)) check_conflict(other, command);
}

void CommandChecker::check_conflict(size_t command, size_t other) {
  for (const Access& a : accesses_[other]) {
    for (const Access& b : accesses_[command]) {
      if (!a.writes && !b.writes) break;  // writes come first
      if (a.at.buffer != b.at.buffer || !overlap(a, b)) continue;
      return report(command, other, "{} bytes of buffer {} that {} {}, and nothing orders them",
                    b.writes ? "writes" : "reads", a.at.buffer, name(other),
                    a.writes ? "writes" : "reads");
    }
  }
}

void CommandChecker::check_reads() {
  std::unordered_map<BufferId, Written> written;
  for (const Access& access : around_.filled) written[access.at.buffer].filled.add(access);
  for (auto& [buffer, of] : written) of.filled.sort();
  const std::vector<size_t>& sequence = order_.sequence();
  for (size_t turn = 0; turn < sequence.size(); ++turn) {
    for (const Access& access : accesses_[sequence[turn]]) {
      if (!access.writes) break;
      written[access.at.buffer].writes.push_back({turn, sequence[turn], access});
    }
  }
  for (size_t turn = 0; turn < sequence.size(); ++turn) {
    if (full()) return;
    for (const Access& access : accesses_[sequence[turn]]) {
      if (!access.writes) check_read(turn, sequence[turn], access, written[access.at.buffer]);
    }
  }
}

// Reports the bytes of the read that no command before it wrote. A write that has no order with the
// reading command counts as before it, since that conflict was already reported.
void CommandChecker::check_read(size_t turn, size_t command, const Access& read,
                                const Written& written) {
  if (written.filled.hold({read.at.offset, end_of(read)})) return;
  std::optional<ByteRanges> rest;
  const std::vector<Write>& writes = written.writes;
  const auto own = std::ranges::lower_bound(writes, turn, {}, &Write::turn);
  for (auto write = own; write != writes.begin();) {
    --write;
    if (contains(write->access, read)) return;
    if (!overlap(write->access, read)) continue;
    if (!rest) rest.emplace(read);
    rest->take_away(write->access);
    if (rest->empty()) return;
  }
  ByteRanges missing = rest ? std::move(*rest) : ByteRanges(read);
  missing.take_away(written.filled);
  for (auto write = own; write != writes.end() && !missing.empty(); ++write) {
    if (write->command == command || order_.before(command, write->command)) continue;
    missing.take_away(write->access);
  }
  if (missing.empty()) return;
  report(command, SIZE_MAX, "reads {} bytes of buffer {} at {} that nobody wrote before",
         missing.bytes(), read.at.buffer, missing.begin());
}

}  // namespace

std::vector<CommandFault> check_commands(const CommandList& list, const CommandsAround& around) {
  return CommandChecker(list, around).faults();
}

}  // namespace hearth
