// Command lists for tests, with what they need to run on a virtual accelerator: a ring of slots
// that one queue fills and another multiplies with, and layers of a model.
#pragma once

#include <cstddef>
#include <vector>

#include "accelerator/check_commands.h"

namespace hearth {

struct TestInput {
  Place at;
  std::vector<std::byte> bytes;
};

// Buffers and timelines are those that a new accelerator makes first.
struct TestList {
  CommandList list;
  CommandsAround around;
  std::vector<uint64_t> buffers;  // their bytes
  std::vector<TestInput> inputs;
  uint32_t timelines = 0;
  Moment end;      // when all has ended
  Access results;  // a run of bytes
};

// Copies of `steps` matrices into two slots in turn, on the last queue, and on the first a product
// with each: a copy waits for the product that had the slot before, a product for its copy.
TestList ring_list(uint32_t queues, uint32_t steps);

// Layers of norm, products side by side, RoPE, attention, sum, norm, products, silu, product, sum,
// on one queue. What may run side by side is not ordered.
TestList layers_list(uint32_t layers);

// Returns the bytes of the results on a new virtual accelerator.
std::vector<std::byte> run_list(const TestList& test, uint64_t seed);

}  // namespace hearth
