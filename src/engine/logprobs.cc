#include "engine/logprobs.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace hearth {

bool all_finite(std::span<const float> logits) {
  return std::ranges::all_of(logits, [](float x) { return std::isfinite(x); });
}

double log_sum_exp(std::span<const float> logits) {
  double most = *std::ranges::max_element(logits);
  double sum = 0;
  for (float logit : logits) sum += std::exp(logit - most);
  return most + std::log(sum);
}

std::vector<std::pair<int32_t, double>> top_logprobs(std::span<const float> logits, double norm,
                                                     uint32_t count) {
  count = static_cast<uint32_t>(std::min<size_t>(count, logits.size()));
  if (count == 0) return {};
  std::vector<int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  auto before = [&](int32_t a, int32_t b) {
    float x = logits[static_cast<size_t>(a)], y = logits[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  };
  std::partial_sort(ids.begin(), ids.begin() + count, ids.end(), before);
  std::vector<std::pair<int32_t, double>> top;
  for (uint32_t i = 0; i < count; ++i) {
    top.emplace_back(ids[i], logits[static_cast<size_t>(ids[i])] - norm);
  }
  return top;
}

}  // namespace hearth
