// Command lists for tests, with the data to run them on a virtual accelerator: a ring of slots that
// one queue fills and another multiplies with, and layers of a model.
#pragma once

#include <cstddef>
#include <vector>

#include "accelerator/check_commands.h"

namespace hearth {

struct TestInput {
  Place at;
  std::vector<std::byte> bytes;
};

// A list for a new accelerator: its buffers and timelines have the first numbers that the
// accelerator gives.
struct TestList {
  CommandList list;
  CommandsAround around;
  std::vector<uint64_t> buffers;  // bytes of each
  std::vector<TestInput> inputs;
  uint32_t timelines = 0;
  Moment end;      // the moment when all commands have ended
  Access results;  // the bytes of the results, without gaps
};

// Returns a list that copies `steps` matrices into two slots in turn, on the last queue, and
// multiplies by each on the first queue. A copy waits for the product that used its slot last; a
// product waits for its copy.
TestList ring_list(uint32_t queues, uint32_t steps);

// Returns a list of layers on one queue. A layer has: norm, products side by side, RoPE, attention,
// sum, norm, products, SiLU, product, sum. Commands that may run side by side have no order.
TestList layers_list(uint32_t layers);

// Runs the list on a new virtual accelerator, and returns the bytes of its results.
std::vector<std::byte> run_list(const TestList& test, uint64_t seed);

}  // namespace hearth
