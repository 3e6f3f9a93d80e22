// Holds command lists against the orders that they leave open. A driver may hide a fault for years
// by keeping an order that nobody asked for: llama.cpp shipped such a race between copies and
// kernels (its issue 25195), and validation layers do not see the pointers of shaders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "accelerator/command_list.h"

namespace hearth {

struct CommandsAround {
  uint32_t queues = 1;             // that the accelerator has
  std::vector<Moment> comes = {};  // signalled by others, whatever the list does
  std::vector<Access> filled =
      {};  // what was written before: weights, inputs, memory of the process
};

struct CommandFault {
  size_t command = 0;       // where it shows
  size_t other = SIZE_MAX;  // the command that it conflicts with, if any
  std::string text;         // one sentence, which names both
};

// The most faults that are told.
inline constexpr size_t kMostFaults = 1000;

// Everything that is wrong with the list, in its order; empty: whatever order its waits allow gives
// the same result, and it ends. Found are: a queue that there is not; a timeline that does not
// grow, or whose signals are in no order; a wait that is never over, for want of a signal or in a
// circle, and, where there is one queue, any wait for a signal that stands behind it; two accesses
// to the same bytes of which one writes and which nothing orders; bytes that are read and that
// nobody wrote before; what check_command() refuses. Commands behind a wait that is never over are
// held to no order.
std::vector<CommandFault> check_commands(const CommandList& list, const CommandsAround& around);

}  // namespace hearth
