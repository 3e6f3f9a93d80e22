// Figures of a row of logits: at least one, finite but where said otherwise.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace hearth {

// Of any floats.
bool all_finite(std::span<const float> logits);
// What to say where they are not.
inline constexpr const char* kNotNumbers =
    "the model gives logits that are not numbers: its weights are damaged, or too large for it; "
    "get the file again";

// Infinities may be among these.
float largest(std::span<const float> logits);
// stripes[i] becomes the largest of itself and all row[n x kStripes + i].
inline constexpr size_t kStripes = 512;
void raise_stripes(std::span<const float> row, std::span<float, kStripes> stripes);
// The token with the largest logit, the lowest id among equals.
int32_t argmax(std::span<const float> logits);
// Calls call(token, logit) for every logit >= threshold in ascending order of tokens; `threshold`
// may rise meanwhile.
void for_each_at_least(std::span<const float> logits, const float& threshold,
                       const std::function<void(int32_t token, float logit)>& call);

struct TokenLogit {
  int32_t token;
  float logit;
  bool operator==(const TokenLogit&) const = default;
};
// Equal logits rank by id, so that the order is the same on every machine.
inline bool likelier(const TokenLogit& a, const TokenLogit& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
}

// The `count` likeliest (at least 1) of the logits that are offered, in one part or in several.
// They are never sorted as a whole: tokens are collected above a threshold that rises each time
// twice as many as needed have come together.
class TopTokens {
 public:
  // Starts anew. Logits below `at_least` need not be looked at: `count` others are not.
  void start(uint32_t count, float at_least = -std::numeric_limits<float>::infinity());
  // Of tokens first, first + 1, ...
  void offer(std::span<const float> logits, int32_t first = 0);
  // Those of all that was offered, fewer where it was less; the likeliest first.
  std::span<const TokenLogit> sorted();
  // The same in an order that follows from everything that was offered.
  std::span<const TokenLogit> unsorted();

 private:
  void shrink();

  size_t count_ = 1;
  float threshold_ = 0;
  std::vector<TokenLogit> tokens_;
};

// The `count` likeliest tokens, or all where there are fewer; the likeliest first.
std::vector<TokenLogit> top_tokens(std::span<const float> logits, uint32_t count);

// log(sum(exp(logits))): a logit less this is its log-probability.
double log_sum_exp(std::span<const float> logits);

// top_tokens() with logit - `norm`.
std::vector<std::pair<int32_t, double>> top_logprobs(std::span<const float> logits, double norm,
                                                     uint32_t count);

}  // namespace hearth
