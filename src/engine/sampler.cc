#include "engine/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "base/check.h"
#include "base/error.h"

namespace hearth {
namespace {

// The most that best_needed() returns. Finding more tokens takes about as long as reading the whole
// row.
constexpr uint32_t kMaxBestTokens = 512;

// The least logit of an allowed token. Forbidden tokens have -inf and are left out, since a mask
// may forbid nearly all tokens.
constexpr float kMinLogit = std::numeric_limits<float>::lowest();

void check_range(const char* field, double value, double low, double high) {
  if (!(value >= low && value <= high)) {
    fail_field(ErrorCode::kUsage, field, "is {}; it must lie between {} and {}", value, low, high);
  }
}

// Checks that the biases do not forbid every token; a token may be named twice.
void check_some_allowed(std::span<const std::pair<int32_t, float>> biases, uint32_t vocabulary) {
  if (biases.size() < vocabulary) return;
  std::vector<bool> forbidden(vocabulary);
  for (auto [token, bias] : biases) {
    if (bias == -INFINITY) forbidden[static_cast<size_t>(token)] = true;
  }
  if (std::ranges::count(forbidden, true) < static_cast<ptrdiff_t>(vocabulary)) return;
  fail_field(
      ErrorCode::kUsage, "logit_bias",
      "forbids all {} tokens: leave at least one without a bias of -inf (in a request, -100)",
      vocabulary);
}

void check_ids(const char* field, std::span<const int32_t> ids, uint32_t vocabulary) {
  for (int32_t token : ids) {
    if (token >= 0 && static_cast<uint32_t>(token) < vocabulary) continue;
    fail_field(ErrorCode::kUsage, field, "names token {}; the vocabulary has 0 to {}", token,
               vocabulary - 1);
  }
}

// Checks that the other options do not forbid every token in the list of allowed ones.
void check_allowed(const SamplingParams& params) {
  if (params.allowed.empty()) return;
  std::unordered_set<int32_t> forbidden;
  for (auto [token, bias] : params.logit_bias) {
    if (bias == -INFINITY) forbidden.insert(token);
  }
  if (params.min_tokens > 0) forbidden.insert(params.late.begin(), params.late.end());
  auto may_come = [&](int32_t token) { return !forbidden.contains(token); };
  if (std::ranges::any_of(params.allowed, may_come)) return;
  fail_field(ErrorCode::kUsage, "allowed_token_ids",
             "allows only tokens that logit_bias, ignore_eos or min_tokens forbids: allow others");
}

// Sets the logits of tokens without a bit in the mask, and of those beyond the mask, to -inf.
void forbid_others(std::span<const uint64_t> mask, std::span<float> logits) {
  for (size_t word = 0; word * 64 < logits.size(); ++word) {
    const uint64_t bits = word < mask.size() ? mask[word] : 0;
    if (bits == ~uint64_t{0}) continue;
    const size_t end = std::min(logits.size(), word * 64 + 64);
    if (bits == 0) {
      std::ranges::fill(logits.subspan(word * 64, end - word * 64), -INFINITY);
      continue;
    }
    for (size_t i = word * 64; i < end; ++i) {
      if ((bits >> (i % 64) & 1) == 0) logits[i] = -INFINITY;
    }
  }
}

}  // namespace

void check_sampling(const SamplingParams& params, uint32_t vocabulary) {
  check_range("temperature", params.temperature, 0, 100);
  check_range("top_p", params.top_p, 0, 1);
  check_range("min_p", params.min_p, 0, 1);
  check_range("repeat_penalty", params.repeat_penalty, 0.01, 100);
  check_range("presence_penalty", params.presence_penalty, -100, 100);
  check_range("frequency_penalty", params.frequency_penalty, -100, 100);
  for (auto [token, bias] : params.logit_bias) {
    if (token < 0 || static_cast<uint32_t>(token) >= vocabulary) {
      fail_field(ErrorCode::kUsage, "logit_bias", "names token {}; the vocabulary has 0 to {}",
                 token, vocabulary - 1);
    }
    if (std::isnan(bias) || bias == INFINITY) {
      fail_field(ErrorCode::kUsage, "logit_bias", "of token {} is {}; it must be a number or -inf",
                 token, bias);
    }
  }
  check_some_allowed(params.logit_bias, vocabulary);
  check_ids("allowed_token_ids", params.allowed, vocabulary);
  check_ids("stop_token_ids", params.late, vocabulary);
  check_allowed(params);
}

Sampler::Sampler(SamplingParams params) : params_(std::move(params)), random_(params_.seed) {}

void Sampler::accept(int32_t token) {
  accept_prompt(token);
  if (params_.penalise_generated && adjusts()) ++generated_[token];
  ++accepted_;
}

void Sampler::accept_prompt(int32_t token) {
  if (params_.penalty_window == 0) return;
  if (recent_.size() < params_.penalty_window) {
    recent_.push_back(token);
  } else {
    int32_t& oldest = recent_[next_recent_];
    if (--counts_[oldest] == 0) counts_.erase(oldest);
    oldest = token;
    next_recent_ = (next_recent_ + 1) % recent_.size();
  }
  ++counts_[token];
}

bool Sampler::may_come(int32_t token) const {
  auto names = [token](std::span<const int32_t> ids) { return std::ranges::count(ids, token) > 0; };
  if (accepted_ < params_.min_tokens && names(params_.late)) return false;
  if (!params_.allowed.empty() && !names(params_.allowed)) return false;
  return std::ranges::none_of(params_.logit_bias, [token](const auto& bias) {
    return bias.first == token && bias.second == -INFINITY;
  });
}

bool Sampler::adjusts() const {
  return !params_.logit_bias.empty() || params_.repeat_penalty != 1 ||
         params_.presence_penalty != 0 || params_.frequency_penalty != 0 ||
         !params_.allowed.empty() || (accepted_ < params_.min_tokens && !params_.late.empty());
}

// Returns the logits or, if an option changes them, their changed copy in `changed_`.
std::span<const float> Sampler::adjusted(std::span<const float> logits,
                                         std::span<const uint64_t> mask) {
  if (!adjusts() && mask.empty()) return logits;
  changed_.assign(logits.begin(), logits.end());
  for (auto [token, bias] : params_.logit_bias) changed_[static_cast<size_t>(token)] += bias;
  for (auto [token, count] : counts_) {
    float& logit = changed_[static_cast<size_t>(token)];
    logit = logit > 0 ? logit / params_.repeat_penalty : logit * params_.repeat_penalty;
  }
  for (auto [token, count] : params_.penalise_generated ? generated_ : counts_) {
    changed_[static_cast<size_t>(token)] -=
        params_.presence_penalty + params_.frequency_penalty * static_cast<float>(count);
  }
  if (accepted_ < params_.min_tokens) {
    for (int32_t token : params_.late) changed_[static_cast<size_t>(token)] = -INFINITY;
  }
  if (!mask.empty()) forbid_others(mask, changed_);
  if (params_.allowed.empty()) return changed_;
  only_.assign(changed_.size(), -INFINITY);
  for (int32_t token : params_.allowed) {
    only_[static_cast<size_t>(token)] = changed_[static_cast<size_t>(token)];
  }
  return only_;
}

bool Sampler::has_top_k(size_t vocabulary) const {
  return params_.top_k > 0 && params_.top_k < vocabulary;
}

bool Sampler::draws_from_all(size_t vocabulary) const {
  return !adjusts() && params_.temperature > 0 && !has_top_k(vocabulary) && params_.top_p >= 1 &&
         params_.min_p <= 0;
}

std::optional<int32_t> Sampler::sample(std::span<const float> logits,
                                       std::span<const uint64_t> mask) {
  HEARTH_CHECK(!logits.empty(), "a vocabulary has tokens");
  logits = adjusted(logits, mask);
  if ((adjusts() || !mask.empty()) && largest(logits) == -INFINITY) return {};
  if (params_.temperature == 0) return argmax(logits);
  if (has_top_k(logits.size())) {
    keep_top_k(logits);
  } else {
    keep_likely(logits);
  }
  keep_nucleus();
  return draw();
}

// Returns how many of the best tokens a draw needs; 0: the whole row. With no top_p the draw
// depends on the order in which the top_k were found in the whole row, so it needs that row.
uint32_t Sampler::best_needed(size_t vocabulary) const {
  if (adjusts()) return 0;
  if (params_.temperature == 0) return 1;
  bool few = has_top_k(vocabulary) && params_.top_k <= kMaxBestTokens;
  return few && params_.top_p < 1 ? params_.top_k : 0;
}

int32_t Sampler::sample_best(std::span<const TokenLogit> best) {
  HEARTH_CHECK(!best.empty(), "a vocabulary has tokens");
  if (params_.temperature == 0) return best[0].token;
  keep(best);
  keep_nucleus();
  return draw();
}

void Sampler::keep_top_k(std::span<const float> logits) {
  // The draw without top_p depends on the candidates' order, and so on all offered logits.
  top_.start(params_.top_k, params_.top_p < 1 ? kMinLogit : -INFINITY);
  top_.offer(logits);
  keep(params_.top_p < 1 ? top_.sorted() : top_.unsorted());
}

void Sampler::keep(std::span<const TokenLogit> best) {
  most_ = std::min_element(best.begin(), best.end(), likelier)->logit;
  candidates_.clear();
  total_ = 0;
  for (const TokenLogit& b : best) {
    candidates_.push_back({b, weight(b.logit)});
    total_ += candidates_.back().weight;
  }
}

// Keeps all tokens that min-p does not exclude. These are the candidates if there is no top_k. Only
// top-p needs the sum over the others.
void Sampler::keep_likely(std::span<const float> logits) {
  most_ = largest(logits);
  // The threshold is a little below min-p's bound, which keep_nucleus() applies exactly.
  float threshold = params_.min_p > 0
                        ? most_ + params_.temperature * (std::log(params_.min_p) - 0.001f)
                        : kMinLogit;
  candidates_.clear();
  for_each_at_least(logits, threshold, [&](int32_t token, float logit) {
    candidates_.push_back({{token, logit}, weight(logit)});
  });
  total_ = 0;
  if (params_.top_p < 1) {
    for (float logit : logits) {
      if (logit >= kMinLogit) total_ += weight(logit);
    }
  }
}

float Sampler::weight(float logit) const { return std::exp((logit - most_) / params_.temperature); }

// Keeps the candidates that top-p and min-p allow: the largest ones, at least one. They are taken
// from a heap, so that the others are never sorted.
void Sampler::keep_nucleus() {
  std::erase_if(candidates_, [this](const Candidate& c) {
    return c.logit == -INFINITY || (c.weight < params_.min_p && c.logit < most_);
  });
  kept_ = 0;
  if (params_.top_p >= 1) {
    for (const Candidate& c : candidates_) kept_ += c.weight;
    return;
  }
  auto after = [](const Candidate& a, const Candidate& b) { return likelier(b, a); };
  std::make_heap(candidates_.begin(), candidates_.end(), after);
  auto heap_end = candidates_.end();
  do {
    std::pop_heap(candidates_.begin(), heap_end, after);
    kept_ += (--heap_end)->weight;
  } while (heap_end != candidates_.begin() && kept_ < params_.top_p * total_);
  candidates_.erase(candidates_.begin(), heap_end);
}

int32_t Sampler::draw() {
  // 53 bits in [0, 1): std::uniform_real_distribution differs between standard libraries.
  double at = static_cast<double>(random_() >> 11) * 0x1p-53 * kept_;
  for (size_t i = 0; i + 1 < candidates_.size(); ++i) {
    at -= candidates_[i].weight;
    if (at < 0) return candidates_[i].token;
  }
  return candidates_.back().token;
}

}  // namespace hearth
