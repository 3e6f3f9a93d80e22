// Checks that the result of a command list does not depend on an order that the list leaves open. A
// driver may hide such a fault for years by keeping an order that nobody asked for. llama.cpp
// shipped such a race between copies and kernels (its issue 25195), and validation layers do not
// see the pointers of shaders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "accelerator/command_list.h"

namespace hearth {

struct CommandsAround {
  uint32_t queues = 1;             // of the accelerator
  std::vector<Moment> comes = {};  // moments that come without a signal of the list
  // Bytes that were written before the list: weights, inputs, memory of the process.
  std::vector<Access> filled = {};
};

struct CommandFault {
  size_t command = 0;       // the command at which the fault shows
  size_t other = SIZE_MAX;  // the command that it conflicts with, if any
  std::string text;         // one sentence that names both commands
};

// The most faults that check_commands() returns.
inline constexpr size_t kMaxFaults = 1000;

// Returns all faults of the list, in its order. Empty: every order that its waits allow gives the
// same result, and the list ends. These are faults:
//   - a queue that does not exist;
//   - a timeline whose values do not grow, or whose signals have no certain order;
//   - a wait that never ends, since its signal is missing or waits for it in turn; with one queue,
//     any wait for a signal that stands after it;
//   - two accesses to the same bytes that nothing orders, of which one writes;
//   - bytes that are read and were never written;
//   - a command that check_command() refuses.
// The order of commands after a wait that never ends is not checked.
std::vector<CommandFault> check_commands(const CommandList& list, const CommandsAround& around);

}  // namespace hearth
