// Chooses the experts of a token's row, and puts the rows of each expert one after the other. These
// are pure functions over plain arrays, the same on every ISA level; graph/ops/experts.h runs them.
//
// Scores are the softmax or sigmoid of the router's logits, in f32, or the logits themselves. If
// they are the logits, the weights of the chosen experts are the softmax of their logits (gpt-oss:
// arXiv 2508.10925). A bias, if there is one, is added to scores for choosing, but not to weights.
// Experts may stand in groups, of which the best are taken first. A group's score is that of its
// best expert (softmax: DeepSeek-V2, arXiv 2405.04434) or the sum of its two best (sigmoid:
// DeepSeek-V3, arXiv 2412.19437). Of equal scores the lower expert, or group, is taken. A chosen
// expert's weight is its score times a scale. If the model says so, it is also divided by the sum
// of all chosen scores.
//
// As computed, l = logit_scale * logit, each operation rounded once:
//   softmax             e = exp_nonpositive(l - highest l) (kernels/simd/exp.h), score = e / sum
//   sigmoid             kernels/simd/sigmoid.h of l
//   softmax of chosen   e = exp_nonpositive(l - highest l that was chosen)
// All sums run over experts by ascending number. The weight is the score, or e, times (scale /
// sum); where the sum is 0, nothing is divided by it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth {

enum class Gating : uint8_t { kSoftmax, kSigmoid, kSoftmaxOfChosen };

inline constexpr uint32_t kMaxExperts = 1024, kMaxChosen = 64;

struct RouterRule {
  uint32_t experts = 0, used = 0;  // used <= experts
  Gating gating = Gating::kSoftmax;
  bool norm_topk = false;  // always so with kSoftmaxOfChosen
  float scale = 1;
  float logit_scale = 1;  // the factor on logits
  // `experts` is a multiple of `groups`. Any `groups_used` groups have at least `used` experts.
  uint32_t groups = 1, groups_used = 1;
};

// Writes the `used` experts of one row in ascending order, and their weights. `logits` and `bias`
// (or null) are [experts]; `scratch` holds 2 * experts + groups floats. Logits that are NaN give
// weights that are NaN.
void choose_experts(const RouterRule& rule, const float* logits, const float* bias, float* scratch,
                    uint32_t* chosen, float* weights);

// The choices of a step's rows, grouped by expert. Each pair of a row and an expert that it chose
// has a place. The places of expert e are [first[e], first[e + 1]), by ascending row.
struct ExpertChoices {
  uint32_t rows = 0, used = 0, experts = 0;
  uint32_t* chosen;  // [rows][used], ascending
  float* weights;    // [rows][used]
  uint32_t* place;   // [rows][used]
  uint32_t* row;     // [rows * used], by place
  uint32_t* first;   // [experts + 1]
  float* shared;     // [rows]: the weight of the shared expert, if it has a gate

  uint32_t count(uint32_t expert) const { return first[expert + 1] - first[expert]; }
};
// Returns how many 32-bit words of memory the arrays of ExpertChoices take.
constexpr size_t choice_words(uint32_t rows, const RouterRule& rule) {
  return size_t{4} * rows * rule.used + rule.experts + 1 + rows;
}
ExpertChoices choices_over(uint32_t* memory, uint32_t rows, const RouterRule& rule);

// Fills place, row and first from chosen.
void group_by_expert(const ExpertChoices& choices);

}  // namespace hearth
