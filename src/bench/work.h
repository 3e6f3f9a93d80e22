// Counts the bytes and operations of a case's steps, as the ops of the engine's graph report them
// (graph/op_work.h). A rate over these counts measures the code.
//
//
//   bytes       of the weights as they stand in the source. A step reads every matrix once,
// whatever
//               the number of sequences; of the embedding table it reads a row a token.
//   operations  2 * rows * K for every matrix, the LM head's for wanted rows only; those of
//               attention as its op says.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/engine_options.h"
#include "graph/graph.h"
#include "kernels/attention/attention.h"
#include "kernels/limits/limits.h"
#include "plan/plan.h"

namespace hearth {

// One measurement: `tokens` tokens of each of `sequences` sequences, which already hold `depth`
// positions.
struct BenchCase {
  Phase phase = Phase::kPrefill;  // decode: one token of every sequence a step
  uint32_t tokens = 0;
  uint32_t sequences = 1;
  uint32_t depth = 0;

  uint64_t all_tokens() const { return uint64_t{tokens} * sequences; }
  bool operator==(const BenchCase&) const = default;
};

// The lists of a run. It measures every length at every depth, and decode with every number of
// sequences too. Lengths of 0 are left out.
struct BenchLists {
  std::vector<uint32_t> prefill, decode, depths, sequences;
};
// Returns the cases by depth, so that the tokens that fill a context are computed once.
std::vector<BenchCase> bench_cases(const BenchLists& lists);

// Returns "prefill 512", "decode 128 x 4 sequences at depth 1024".
std::string case_text(const BenchCase& what);

using UnitOps = std::array<double, kArithmeticUnits>;  // by arithmetic unit

// The graph whose work is counted. It belongs to the engine that runs the cases, in either phase.
struct WorkGraph {
  const Graph& graph;
  KvType kv_type;
  ArithmeticUnitSet units;  // of the model's level; FP32 FMA stands for a unit that the level lacks
  // The rule by which models with latents expand rows. `step_rows`: rows of a step, since every
  // step makes the keys and values of expanded rows again. A measured prompt counts as the start of
  // a longer one.
  ExpandRule expand = {.tail = 0, .step = 0};
  uint32_t step_rows = 512;

  // Returns the unit that most of the products' operations run on.
  ArithmeticUnit unit() const;
};

struct CaseWork {
  uint64_t steps = 0;         // counted for decode only, like all bytes
  uint64_t weight_bytes = 0;  // of one step
  uint64_t kv_bytes = 0;      // of one step, on average: keys and values read
  UnitOps gemm_ops{};         // of the whole case
  double attention_ops = 0;   // of the whole case
  ArithmeticUnit attention_unit = ArithmeticUnit::kF32Fma;

  double ops() const;
};

// Counts a case's work. Prefill computes the logits of its last token, decode those of every token.
CaseWork count_case(const WorkGraph& model, const BenchCase& what);

}  // namespace hearth
