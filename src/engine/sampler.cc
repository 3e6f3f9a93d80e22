#include "engine/sampler.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/error.h"

namespace hearth {
namespace {

void check_range(const char* option, double value, double low, double high) {
  if (!(value >= low && value <= high)) {
    fail(ErrorCode::kUsage, "{} is {}; it must lie between {} and {}", option, value, low, high);
  }
}

}  // namespace

void check_sampling(const SamplingParams& params, uint32_t vocabulary) {
  check_range("--temp", params.temperature, 0, 100);
  check_range("--top-p", params.top_p, 0, 1);
  check_range("--min-p", params.min_p, 0, 1);
  check_range("--repeat-penalty", params.repeat_penalty, 0.01, 100);
  check_range("--presence-penalty", params.presence_penalty, -100, 100);
  check_range("--frequency-penalty", params.frequency_penalty, -100, 100);
  for (auto [token, bias] : params.logit_bias) {
    if (token < 0 || static_cast<uint32_t>(token) >= vocabulary) {
      fail(ErrorCode::kUsage, "--logit-bias names token {}; the vocabulary has 0 to {}", token,
           vocabulary - 1);
    }
    if (std::isnan(bias) || bias == INFINITY) {
      fail(ErrorCode::kUsage, "--logit-bias of token {} is {}; it must be a number or -inf", token,
           bias);
    }
  }
}

Sampler::Sampler(SamplingParams params) : params_(std::move(params)), random_(params_.seed) {}

void Sampler::accept(int32_t token) {
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

void Sampler::apply_bias_and_penalties() {
  for (auto [token, bias] : params_.logit_bias) logits_[static_cast<size_t>(token)] += bias;
  for (auto [token, count] : counts_) {
    float& logit = logits_[static_cast<size_t>(token)];
    logit = logit > 0 ? logit / params_.repeat_penalty : logit * params_.repeat_penalty;
    logit -= params_.presence_penalty + params_.frequency_penalty * static_cast<float>(count);
  }
}

int32_t Sampler::sample(std::span<const float> logits) {
  HEARTH_CHECK(!logits.empty(), "a vocabulary has tokens");
  logits_.assign(logits.begin(), logits.end());
  apply_bias_and_penalties();
  if (params_.temperature == 0) {
    return static_cast<int32_t>(std::max_element(logits_.begin(), logits_.end()) - logits_.begin());
  }
  keep_top_k();
  return draw();
}

// The top_k largest logits, sorted. The vocabulary is never sorted as a whole: candidates are
// collected above a threshold that rises each time twice as many as needed have come together.
void Sampler::keep_top_k() {
  // Equal logits rank by id, so that the order is the same on every machine.
  auto before = [](const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
  };
  size_t k = params_.top_k == 0 ? logits_.size() : std::min<size_t>(params_.top_k, logits_.size());
  auto shrink = [&] {
    auto last = candidates_.begin() + static_cast<ptrdiff_t>(k);
    std::nth_element(candidates_.begin(), last - 1, candidates_.end(), before);
    candidates_.erase(last, candidates_.end());
    return candidates_.back().logit;
  };
  candidates_.clear();
  float threshold = -INFINITY;
  for (size_t i = 0; i < logits_.size(); ++i) {
    if (logits_[i] < threshold) continue;
    candidates_.push_back({static_cast<int32_t>(i), logits_[i]});
    if (candidates_.size() >= 2 * k && candidates_.size() > k) threshold = shrink();
  }
  if (candidates_.size() > k) shrink();
  std::sort(candidates_.begin(), candidates_.end(), before);
}

// Candidates are sorted: what top-p and min-p keep is a prefix.
int32_t Sampler::draw() {
  float most = candidates_[0].logit;
  probabilities_.clear();
  double total = 0;
  for (const Candidate& c : candidates_) {
    probabilities_.push_back(std::exp((c.logit - most) / params_.temperature));
    total += probabilities_.back();
  }
  size_t keep = 0;
  double kept = 0;
  while (keep < probabilities_.size()) {
    bool enough = keep > 0 && kept >= params_.top_p * total;
    if (enough || probabilities_[keep] < params_.min_p) break;
    kept += probabilities_[keep++];
  }
  keep = std::max<size_t>(keep, 1);
  kept = std::max(kept, static_cast<double>(probabilities_[0]));
  // 53 bits in [0, 1): std::uniform_real_distribution differs between standard libraries.
  double at = static_cast<double>(random_() >> 11) * 0x1p-53 * kept;
  for (size_t i = 0; i + 1 < keep; ++i) {
    at -= probabilities_[i];
    if (at < 0) return candidates_[i].token;
  }
  return candidates_[keep - 1].token;
}

}  // namespace hearth
