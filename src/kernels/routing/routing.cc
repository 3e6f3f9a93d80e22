#include "kernels/routing/routing.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/simd/exp.h"
#include "kernels/simd/sigmoid.h"

namespace hearth {
namespace {

// Writes the score of every expert, and returns whether all logits are numbers.
bool score(const RouterRule& rule, const float* logits, float* scores) {
  bool numbers = true;
  float highest = -std::numeric_limits<float>::infinity();
  for (uint32_t e = 0; e < rule.experts; ++e) {
    scores[e] = logits[e] * rule.logit_scale;
    numbers = numbers && !std::isnan(scores[e]);
    highest = std::max(highest, scores[e]);
  }
  if (rule.gating == Gating::kSoftmaxOfChosen) return numbers && std::isfinite(highest);
  if (rule.gating == Gating::kSigmoid) {
    for (uint32_t e = 0; e < rule.experts; ++e) scores[e] = sigmoid(scores[e]);
    return numbers;
  }
  float sum = 0;
  for (uint32_t e = 0; e < rule.experts; ++e)
    sum += scores[e] = exp_nonpositive(scores[e] - highest);
  for (uint32_t e = 0; e < rule.experts; ++e) scores[e] /= sum;
  return numbers && std::isfinite(sum);
}

// Returns the score of a group of n experts.
float group_score(const RouterRule& rule, const float* scores, uint32_t n) {
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  float best = kNone, second = kNone;
  for (uint32_t i = 0; i < n; ++i) {
    if (scores[i] > best) {
      second = best;
      best = scores[i];
    } else {
      second = std::max(second, scores[i]);
    }
  }
  return rule.gating != Gating::kSigmoid || n == 1 ? best : best + second;
}

// Writes the indices of the `most` largest of n values, in ascending order. Of equal values the
// lower index is taken. NaN comes last.
void largest(const float* values, uint32_t n, uint32_t most, uint32_t* out) {
  // `out` is sorted by value while it grows.
  auto before = [&](uint32_t a, uint32_t b) {
    return values[a] > values[b] || (std::isnan(values[b]) && !std::isnan(values[a]));
  };
  uint32_t held = 0;
  for (uint32_t i = 0; i < n; ++i) {
    if (held == most && !before(i, out[held - 1])) continue;
    uint32_t at = held == most ? held - 1 : held++;
    for (; at > 0 && before(i, out[at - 1]); --at) out[at] = out[at - 1];
    out[at] = i;
  }
  std::sort(out, out + held);
}

// Makes sure that no expert of a group that is not among the best groups is chosen.
void leave_groups(const RouterRule& rule, float* ranks, float* group_ranks) {
  const uint32_t each = rule.experts / rule.groups;
  for (uint32_t g = 0; g < rule.groups; ++g) {
    group_ranks[g] = group_score(rule, ranks + size_t{g} * each, each);
  }
  uint32_t taken[kMaxExperts];
  largest(group_ranks, rule.groups, rule.groups_used, taken);
  for (uint32_t g = 0, i = 0; g < rule.groups; ++g) {
    if (i < rule.groups_used && taken[i] == g) {
      ++i;
      continue;
    }
    std::fill_n(ranks + size_t{g} * each, each, -std::numeric_limits<float>::infinity());
  }
}

// Replaces the scores of the chosen experts by the e of routing.h. Their weights will be
// proportional to these.
void exponentials(const RouterRule& rule, float* scores, const uint32_t* chosen) {
  float highest = -std::numeric_limits<float>::infinity();
  for (uint32_t i = 0; i < rule.used; ++i) highest = std::max(highest, scores[chosen[i]]);
  for (uint32_t i = 0; i < rule.used; ++i) {
    scores[chosen[i]] = exp_nonpositive(scores[chosen[i]] - highest);
  }
}

}  // namespace

void choose_experts(const RouterRule& rule, const float* logits, const float* bias, float* scratch,
                    uint32_t* chosen, float* weights) {
  float* scores = scratch;
  float* ranks = scratch + rule.experts;
  const bool numbers = score(rule, logits, scores);
  for (uint32_t e = 0; e < rule.experts; ++e) {
    ranks[e] = bias == nullptr ? scores[e] : scores[e] + bias[e];
  }
  if (rule.groups_used < rule.groups) leave_groups(rule, ranks, ranks + rule.experts);
  largest(ranks, rule.experts, rule.used, chosen);
  if (rule.gating == Gating::kSoftmaxOfChosen) exponentials(rule, scores, chosen);
  float sum = 0;
  for (uint32_t i = 0; i < rule.used; ++i) sum += weights[i] = scores[chosen[i]];
  // If all chosen scores are 0, so are the weights, and nothing is divided by the sum.
  const bool normalises = rule.norm_topk || rule.gating == Gating::kSoftmaxOfChosen;
  const float by = normalises && sum > 0 ? rule.scale / sum : rule.scale;
  for (uint32_t i = 0; i < rule.used; ++i) {
    weights[i] = numbers ? weights[i] * by : std::numeric_limits<float>::quiet_NaN();
  }
}

ExpertChoices choices_over(uint32_t* memory, uint32_t rows, const RouterRule& rule) {
  const size_t pairs = size_t{rows} * rule.used;
  return {.rows = rows,
          .used = rule.used,
          .experts = rule.experts,
          .chosen = memory,
          .weights = reinterpret_cast<float*>(memory + pairs),
          .place = memory + 2 * pairs,
          .row = memory + 3 * pairs,
          .first = memory + 4 * pairs,
          .shared = reinterpret_cast<float*>(memory + 4 * pairs + rule.experts + 1)};
}

void group_by_expert(const ExpertChoices& choices) {
  const uint32_t pairs = choices.rows * choices.used;
  std::fill_n(choices.first, choices.experts + 1, 0u);
  for (uint32_t p = 0; p < pairs; ++p) ++choices.first[choices.chosen[p] + 1];
  for (uint32_t e = 0; e < choices.experts; ++e) choices.first[e + 1] += choices.first[e];
  // The loop advances first[e] to the old first[e + 1]. After the loop all of `first` is restored.
  for (uint32_t p = 0; p < pairs; ++p) {
    choices.place[p] = choices.first[choices.chosen[p]]++;
    choices.row[choices.place[p]] = p / choices.used;
  }
  for (uint32_t e = choices.experts; e > 0; --e) choices.first[e] = choices.first[e - 1];
  choices.first[0] = 0;
}

}  // namespace hearth
