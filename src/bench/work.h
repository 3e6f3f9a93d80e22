// What a model's steps must read and compute, counted from its file and shape and not from the
// code, so that a rate over it tells how well the code does. An addition and a multiplication are
// two operations.
//
//   bytes       as the tensors stand in the file. A step reads every tensor once, however many
//               sequences it serves; of the embedding table a row a token, unless the table is the
//               LM head as well, which is read whole.
//   operations  2 * rows * K a token for every matrix, the LM head's for wanted rows only;
//               attention 4 * head_dim a layer, query head and pair of a query and a key it sees:
//               itself and those before it, within the sliding window where there is one.
//
// Norms, RoPE, activations and the embedding are not counted: a thousandth of the rest.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "formats/gguf.h"
#include "kernels/attention/attention.h"
#include "kernels/limits/limits.h"
#include "models/config.h"
#include "plan/plan.h"

namespace hearth {

// One measurement: `tokens` tokens of each of `sequences` sequences, which hold `depth` already.
struct BenchCase {
  Phase phase = Phase::kPrefill;  // decode: one token of every sequence a step
  uint32_t tokens = 0;
  uint32_t sequences = 1;
  uint32_t depth = 0;

  uint64_t all_tokens() const { return uint64_t{tokens} * sequences; }
  bool operator==(const BenchCase&) const = default;
};

// What is asked for: every length at every depth, decode also with every number of sequences.
// Lengths of 0 are left out.
struct BenchLists {
  std::vector<uint32_t> prefill, decode, depths, sequences;
};
// By depth, so that what fills a context is computed once.
std::vector<BenchCase> bench_cases(const BenchLists& lists);

// "prefill 512", "decode 128 x 4 sequences at depth 1024".
std::string case_text(const BenchCase& what);

using UnitOps = std::array<double, kUnits>;  // by Unit

struct ModelWork {
  uint64_t body_bytes = 0;       // of what every step reads: all but the LM head and the embedding
  uint64_t head_bytes = 0;       // of the LM head
  uint64_t table_row_bytes = 0;  // of a row of the embedding table; 0 where that is the head
  UnitOps body_ops{};            // of a token
  UnitOps head_ops{};            // of a row of logits
  double pair_ops = 0;           // attention of a query and a key, in all layers and heads
  Unit attention_unit = Unit::kF32Fma;
  uint64_t position_bytes = 0;  // keys and values of a position, in all layers and heads
  uint32_t window = 0;          // 0: none

  // The unit of most operations.
  Unit unit() const;
};

// `loops`: those of the level that the model runs at; a unit which that lacks is FP32 FMA.
ModelWork count_model(const GgufFile& file, const DecoderConfig& config, KvType kv_type,
                      const UnitSet& units);

struct CaseWork {
  uint64_t steps = 0;         // decode only, as all bytes
  uint64_t weight_bytes = 0;  // of one step
  uint64_t kv_bytes = 0;      // of one step, on average: keys and values read
  UnitOps gemm_ops{};         // of the whole case
  double attention_ops = 0;   // of the whole case
  Unit attention_unit = Unit::kF32Fma;

  double ops() const;
};

// Prefill wants the logits of its last token, decode those of every token.
CaseWork count_case(const ModelWork& model, const BenchCase& what);

}  // namespace hearth
