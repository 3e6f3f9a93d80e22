// Functions over a row of logits. A row has at least one logit, and all are finite unless the
// function's comment says otherwise.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace hearth {

// Returns whether every float is finite; the floats may be any.
bool all_finite(std::span<const float> logits);
// The message for logits that are not finite.
inline constexpr const char* kNotNumbers =
    "the model gives logits that are not numbers: its weights are damaged, or too large for it; "
    "get the file again";

// Returns the largest logit; infinities are allowed.
float largest(std::span<const float> logits);
// Raises stripes[i] to the largest of itself and all row[n x kStripes + i].
inline constexpr size_t kStripes = 512;
void raise_stripes(std::span<const float> row, std::span<float, kStripes> stripes);
// Returns the token with the largest logit, the lowest id among equals.
int32_t argmax(std::span<const float> logits);
// Calls call(token, logit) for every logit >= threshold in ascending order of tokens; `call` may
// raise `threshold`.
void for_each_at_least(std::span<const float> logits, const float& threshold,
                       const std::function<void(int32_t token, float logit)>& call);

struct TokenLogit {
  int32_t token;
  float logit;
  bool operator==(const TokenLogit&) const = default;
};
// Compares by logit, and equal logits by id, so that the order is the same on every machine.
inline bool likelier(const TokenLogit& a, const TokenLogit& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
}

// TopTokens collects the `count` likeliest (at least 1) of the logits that it is offered, in one
// call or in several. It never sorts all of them: it collects tokens above a threshold, which rises
// each time when twice as many as needed have been collected.
class TopTokens {
 public:
  // Starts anew. The caller may give a bound `min_logit` below which logits may be skipped, if it
  // knows `count` logits that are not below it.
  void start(uint32_t count, float min_logit = -std::numeric_limits<float>::infinity());
  // Reserves memory, so that calls for up to `count` tokens need none.
  void reserve(uint32_t count) { tokens_.reserve(2 * size_t{count}); }
  // Offers the logits of tokens first, first + 1, ...
  void offer(std::span<const float> logits, int32_t first = 0);
  // Returns the `count` likeliest of all offered logits, or all if fewer were offered; the
  // likeliest first.
  std::span<const TokenLogit> sorted();
  // Returns the same tokens without sorting them. Their order depends on all offered logits.
  std::span<const TokenLogit> unsorted();

 private:
  void shrink();

  size_t count_ = 1;
  float threshold_ = 0;
  std::vector<TokenLogit> tokens_;
};

// Returns the `count` likeliest tokens, or all where there are fewer; the likeliest first.
std::vector<TokenLogit> top_tokens(std::span<const float> logits, uint32_t count);

// Adds exp(logit - most) of each logit in turn to `sum`, and returns the result.
double add_exps(std::span<const float> logits, double most, double sum);
// Returns log(sum(exp(logits))): a logit less this is its log-probability.
double log_sum_exp(std::span<const float> logits);

// A token's log-probability, and those of the likeliest tokens in its place, the likeliest first.
struct TokenScore {
  double logprob = 0;
  std::vector<std::pair<int32_t, double>> top = {};
};

// Returns top_tokens() with logit - `norm` in place of the logit.
std::vector<std::pair<int32_t, double>> top_logprobs(std::span<const float> logits, double norm,
                                                     uint32_t count);

}  // namespace hearth
