// Scores given tokens: a token's log-probability by the row of logits before it, and the likeliest
// tokens in its place. Several threads read rows where the LM head wrote them, in runs of columns
// by shard. The results are those of log_sum_exp() and top_logprobs() over the whole row, to the
// bit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/logits.h"
#include "engine/step_logits.h"

namespace hearth {

// A token to score by one row of logits, and then its score.
struct ScoredToken {
  int32_t token;
  uint32_t top;  // how many of the likeliest tokens are wanted
  TokenScore score = {};
  bool finite = true;  // false: a logit is not finite, and there is no score
};

class TokenScorer {
 public:
  explicit TokenScorer(uint32_t members) : tops_(members) {}

  // Reserves memory for the answers, so that score() needs none.
  void prepare(std::span<ScoredToken> tokens, uint32_t below);
  // Scores one token among tokens [0, below), by row i. For each member, one thread at a time may
  // call this.
  void score(uint32_t member, const StepLogits& logits, size_t i, uint32_t below,
             ScoredToken* token) noexcept;

 private:
  std::vector<TopTokens> tops_;  // one for each member
};

}  // namespace hearth
