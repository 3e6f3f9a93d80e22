#include "engine/token_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace hearth {

void TokenScorer::prepare(std::span<ScoredToken> tokens, uint32_t below) {
  uint32_t most = 0;
  for (ScoredToken& token : tokens) {
    token.top = std::min(token.top, below);
    token.score.top.resize(token.top);
    most = std::max(most, token.top);
  }
  for (TopTokens& top : tops_) top.reserve(most);
}

void TokenScorer::score(uint32_t member, const StepLogits& logits, size_t i, uint32_t below,
                        ScoredToken* token) noexcept {
  TopTokens& top = tops_[member];
  if (token->top > 0) top.start(token->top);
  float most = -std::numeric_limits<float>::infinity(), own = 0;
  token->finite = true;
  logits.for_each_run(i, below, [&](std::span<const float> run, uint32_t first) {
    token->finite = token->finite && all_finite(run);
    if (!token->finite) return;
    most = std::max(most, largest(run));
    const auto at = static_cast<uint32_t>(token->token) - first;
    if (at < run.size()) own = run[at];
    if (token->top > 0) top.offer(run, static_cast<int32_t>(first));
  });
  if (!token->finite) return;
  double sum = 0;
  logits.for_each_run(
      i, below, [&](std::span<const float> run, uint32_t) { sum = add_exps(run, most, sum); });
  const double norm = most + std::log(sum);
  token->score.logprob = own - norm;
  if (token->top == 0) return;
  std::ranges::transform(top.sorted(), token->score.top.begin(), [norm](const TokenLogit& one) {
    return std::pair(one.token, one.logit - norm);
  });
}

}  // namespace hearth
