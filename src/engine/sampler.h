// Picks the next token from logits. There is one Sampler per sequence; its results depend on its
// seed, not on other work. The steps, in order: a mask of the tokens that may come, if there is
// one, logit bias, repeat penalty (Keskar et al. 2019), presence and frequency penalties. With
// temperature 0 the token with the largest logit is taken (the lowest id among equals). Else follow
// top-k, softmax at the temperature, top-p (Holtzman et al. 2020), min-p (Nguyen et al. 2024), and
// one draw.
//
// If only the largest logits can matter, sample_best() takes these alone (best_needed()).
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/logits.h"

namespace hearth {

struct SamplingParams {
  float temperature = 0.8f;  // 0: greedy
  uint32_t top_k = 40;       // 0: all
  float top_p = 0.95f;       // 1: off
  float min_p = 0.05f;       // 0: off
  float repeat_penalty = 1;  // 1: off
  float presence_penalty = 0;
  float frequency_penalty = 0;
  uint32_t penalty_window = 64;  // the last tokens that the penalties look at
  // Presence and frequency penalties count all generated tokens and no others, whatever the window.
  bool penalise_generated = false;
  uint64_t seed = 0;
  std::vector<std::pair<int32_t, float>> logit_bias = {};  // -inf forbids
  std::vector<int32_t> allowed = {};  // the only tokens that may come; empty: all
  // Tokens in `late` may not come among the first `min_tokens` generated tokens.
  uint32_t min_tokens = 0;
  std::vector<int32_t> late = {};
};

// The error message if sample() returns nothing.
inline constexpr const char* kAllForbidden =
    "no token may come next: the logit bias or the list of allowed tokens forbids every one; leave "
    "one without -100 (-inf)";

// Throws (kUsage) naming the field that is out of range; `vocabulary` bounds all ids. One token at
// least must be allowed.
void check_sampling(const SamplingParams& params, uint32_t vocabulary);

class Sampler {
 public:
  explicit Sampler(SamplingParams params);

  // Count a token for the penalties: one of the prompt, or one that was generated.
  void accept_prompt(int32_t token);
  void accept(int32_t token);
  // Returns whether the options let this token come next, whatever its logit.
  bool may_come(int32_t token) const;

  // Returns the next token, or nothing if the options forbid every one. Does not accept() it.
  // `mask` has a bit for each token that may come; without it all may.
  std::optional<int32_t> sample(std::span<const float> logits, std::span<const uint64_t> mask = {});
  // Returns whether sample() draws from all tokens by their probabilities. Then a caller may draw
  // without a mask and, if the token is not in the mask, draw again with it: the distribution is
  // that of drawing with the mask.
  bool draws_from_all(size_t vocabulary) const;

  // Returns how many of the largest logits sample_best() needs for the token that sample() would
  // give; 0: all are needed.
  uint32_t best_needed(size_t vocabulary) const;
  // Returns the token that sample() would, given the best_needed() largest logits, the largest
  // first (top_tokens()).
  int32_t sample_best(std::span<const TokenLogit> best);

 private:
  struct Candidate : TokenLogit {
    float weight;  // in proportion to its probability
  };

  bool adjusts() const;
  bool has_top_k(size_t vocabulary) const;
  std::span<const float> adjusted(std::span<const float> logits, std::span<const uint64_t> mask);
  void keep_top_k(std::span<const float> logits);
  void keep(std::span<const TokenLogit> best);
  void keep_likely(std::span<const float> logits);
  float weight(float logit) const;
  void keep_nucleus();
  int32_t draw();

  SamplingParams params_;
  std::mt19937_64 random_;
  std::vector<int32_t> recent_;  // ring of the last penalty_window tokens
  size_t next_recent_ = 0;
  std::unordered_map<int32_t, uint32_t> counts_;  // how often each token is in recent_
  // How often each token was generated, if penalties count that.
  std::unordered_map<int32_t, uint32_t> generated_;
  uint32_t accepted_ = 0;  // generated tokens
  std::vector<float> changed_, only_;
  TopTokens top_;
  std::vector<Candidate> candidates_;
  float most_ = 0;               // the largest logit
  double total_ = 0, kept_ = 0;  // weights of all that top-p looks at; of the kept ones
};

}  // namespace hearth
