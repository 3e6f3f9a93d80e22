// A command list describes, as data, what an accelerator's queues do: copies and kernels, and their
// order.
//
// The commands of one queue begin in the order of the list, but may then run side by side. An
// `ordered` command begins only when all commands before it in its queue have ended. A Moment is a
// value of a timeline; a timeline is a counter that only grows. A command that waits for a moment
// begins when the counter has that value; later commands of its queue begin after it. A command's
// signals are given when that command and all commands before it in its queue have ended.
//
// Commands that the list does not order may run in any order. check_commands.h finds lists whose
// result depends on that.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "accelerator/kernel_calls.h"

namespace hearth {

using TimelineId = uint32_t;

struct Moment {
  TimelineId timeline = 0;
  uint64_t value = 0;

  bool operator==(const Moment&) const = default;
};

// A copy between buffers, which may be imported memory of the process (Accelerator::import).
struct CopyBytes {
  Place from, to;
  uint64_t bytes = 0;
};

struct Command {
  uint32_t queue = 0;  // one of facts().queues
  bool ordered = true;
  std::vector<Moment> waits = {};
  std::variant<CopyBytes, KernelCall> work = CopyBytes{};
  std::vector<Moment> signals = {};
};

std::vector<Access> accesses_of(const Command& command);

// Returns "copy", or the name of the call's contract.
std::string work_name(const Command& command);

// Throws Error (kRequest) for a copy of no bytes or onto itself, and for a call that check_call()
// refuses.
void check_command(const Command& command);

template <typename Visit>
void for_each_place(Command* command, const Visit& visit) {
  if (auto* copy = std::get_if<CopyBytes>(&command->work)) {
    visit(&copy->from);
    visit(&copy->to);
  } else {
    for_each_place(&std::get<KernelCall>(command->work), visit);
  }
}

struct CommandList {
  std::vector<Command> commands;
};

}  // namespace hearth
