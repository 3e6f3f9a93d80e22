// Checks that the result of a command list does not depend on an order that the list leaves open.
// Such a fault may stay hidden for years, while drivers keep an order that the list does not ask
// for. llama.cpp shipped such a race between copies and kernels (its issue 25195). Validation
// layers do not find it, since they do not see which memory a shader's pointers reach.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "accelerator/command_list.h"

namespace hearth {

struct CommandsAround {
  uint32_t queues = 1;             // of the accelerator
  std::vector<Moment> comes = {};  // moments that come by themselves, without this list
  // Bytes that were written before the list begins: weights, inputs, memory of the process.
  std::vector<Access> filled = {};
};

struct CommandFault {
  size_t command = 0;       // the command at which the fault shows
  size_t other = SIZE_MAX;  // the command that it conflicts with, if any
  std::string text;         // one sentence that names both commands
};

// The most faults that check_commands() returns.
inline constexpr size_t kMaxFaults = 1000;

// Returns all faults of the list, in the order of its commands. No fault means: the list ends, and
// every order that its waits allow gives the same result. These are faults:
//   - a queue that does not exist;
//   - a timeline whose values do not grow, or whose signals have no certain order;
//   - a wait that never ends, since no command gives its signal, or the command that would give it
//     waits for this one in turn; with one queue, any wait for a signal that stands after it;
//   - two accesses to the same bytes, one of them a write, that nothing orders;
//   - a read of bytes that nothing wrote before;
//   - a command that check_command() refuses.
// Commands that stand after a wait that never ends are not checked for their order.
std::vector<CommandFault> check_commands(const CommandList& list, const CommandsAround& around);

}  // namespace hearth
