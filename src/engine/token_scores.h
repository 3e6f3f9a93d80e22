// Scores tokens that are given: a token's log-probability by the row of logits before it, and the
// likeliest tokens in its place. Rows are read as the LM head left them, in runs of columns by
// shard, by several threads at a time; the figures are to the bit those of log_sum_exp() and
// top_logprobs() over the whole row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/logits.h"
#include "engine/step_logits.h"

namespace hearth {

// A question about one row.
struct ScoredToken {
  int32_t token;
  uint32_t top;  // how many of the likeliest tokens are wanted
  TokenScore score = {};
  bool finite = true;  // false: not all logits are numbers, and there is no score
};

class TokenScorer {
 public:
  explicit TokenScorer(uint32_t members) : tops_(members) {}

  // Makes room for the answers, so that score() needs no memory.
  void prepare(std::span<ScoredToken> tokens, uint32_t below);
  // Answers one, among tokens [0, below), by row i. Called by one thread for each member at a time.
  void score(uint32_t member, const StepLogits& logits, size_t i, uint32_t below,
             ScoredToken* token) noexcept;

 private:
  std::vector<TopTokens> tops_;  // of each member
};

}  // namespace hearth
