// Values of a graph. A value is one group's tensor of activations: rows (the step's tokens, or the
// rows that logits are wanted for) x width, in one or more formats (kernels/quantize/quantize.h). A
// Bundle is one value (serial, group 0's), or one per group (parallel), as in ArcLight's tensor
// bundles. A model is written over bundles and does not depend on the number of groups. These types
// have a separate file because graph.h needs them but not the builder.
#pragma once

#include <cstdint>
#include <vector>

namespace hearth {

using ValueId = uint32_t;

struct Bundle {
  std::vector<ValueId> values;
  bool parallel = true;
};

// The mode says what crosses groups at a node of a graph of P groups (with P = 1 nothing does).
// Between two nodes of one group stands that group's barrier. In a plan in lockstep all groups wait
// at that barrier, so no mode needs a further wait. Plans without an accelerator use neither
// kScatter nor kGather: these two modes are for plans of CPUs beside an accelerator.
enum class Mode : uint8_t {
  kSerial,    // 1 -> 1: only group 0
  kScatter,   // 1 -> P: every group reads the serial value; waits for group 0
  kParallel,  // i -> i: no group waits for another
  kGather,    // P -> 1: group 0 reads every group's value; waits for all
  kReduce,    // P -> P: every group reads every group's value; all wait for all. If it deals out
              // rows, it also writes into every group's value; all then wait for all once more
};

// The rows of a value. kTokens: one for each token of the step. kOutputs: one for each output row.
// kOne: a single row in any step, for data that an op's threads share. kPages: one for each KV page
// that is kept only during the step; every item begins a new page. kChoices: one for each pair of a
// token and an expert that it chose.
enum class RowSet : uint8_t { kTokens, kOutputs, kOne, kPages, kChoices };

struct Value {
  uint32_t group = 0;
  uint32_t width = 0;
  RowSet rows = RowSet::kTokens;
  uint8_t formats = 0;     // a bit for each ActFormat that a node reads
  uint32_t first_use = 0;  // index of the node that writes it
  uint32_t last_use = 0;   // index of the last node during which its memory must stay
};

}  // namespace hearth
