// Chooses the experts of a token's row, and puts the rows of each expert on end. Pure functions
// over plain arrays, alike on every ISA level; the op that runs them is graph/ops/experts.h.
//
// Scores are softmax or sigmoid of the router's logits, in f32, or the logits themselves, of which
// those that were chosen then become their softmax (gpt-oss: arXiv 2508.10925). A bias, where there
// is one, is added to them for choosing and never weighs. Experts may stand in groups, of which the
// best are taken first: a group is as good as its best expert (softmax: DeepSeek-V2, arXiv
// 2405.04434) or as the sum of its two best (sigmoid: DeepSeek-V3, arXiv 2412.19437). Of equal
// scores the lower expert, or group, is taken. A chosen expert's weight is its score, divided by
// the sum of all that were chosen where the model says so, times a scale.
//
// As computed, l = logit_scale * logit, each operation rounded once:
//   softmax             e = exp_nonpositive(l - highest l) (kernels/simd/exp.h), score = e / sum
//   sigmoid             kernels/simd/sigmoid.h of l
//   softmax of chosen   e = exp_nonpositive(l - highest l that was chosen)
// Sums run over experts by number, those of the chosen ones too; the weight is the score, or e,
// times (scale / sum), where nothing is divided by a sum of 0.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth {

enum class Gating : uint8_t { kSoftmax, kSigmoid, kSoftmaxOfChosen };

inline constexpr uint32_t kMostExperts = 1024, kMostChosen = 64;

struct RouterRule {
  uint32_t experts = 0, used = 0;  // used <= experts
  Gating gating = Gating::kSoftmax;
  bool normalised = false;  // as weights of kSoftmaxOfChosen always are
  float scale = 1;
  float logit_scale = 1;  // that logits are multiplied by first
  // groups divides experts; groups_used of them hold `used` experts at least.
  uint32_t groups = 1, groups_used = 1;
};

// Writes the `used` experts of one row in ascending order, and their weights. `logits` and `bias`
// (or null) are [experts]; `scratch` holds 2 * experts + groups floats. Logits that are no number
// give weights that are none.
void choose_experts(const RouterRule& rule, const float* logits, const float* bias, float* scratch,
                    uint32_t* chosen, float* weights);

// The choices of a step's rows, grouped by expert: the pair of a row and an expert that it chose
// has a place, and an expert's places are [first[e], first[e + 1]), by row.
struct ExpertChoices {
  uint32_t rows = 0, used = 0, experts = 0;
  uint32_t* chosen;  // [rows][used], ascending
  float* weights;    // [rows][used]
  uint32_t* place;   // [rows][used]
  uint32_t* row;     // [rows * used], by place
  uint32_t* first;   // [experts + 1]
  float* shared;     // [rows]: the weight of the shared expert, where it has a gate

  uint32_t count(uint32_t expert) const { return first[expert + 1] - first[expert]; }
};
// Words of memory that ExpertChoices point into.
constexpr size_t choice_words(uint32_t rows, const RouterRule& rule) {
  return size_t{4} * rows * rule.used + rule.experts + 1 + rows;
}
ExpertChoices choices_over(uint32_t* memory, uint32_t rows, const RouterRule& rule);

// Fills place, row and first from chosen.
void group_by_expert(const ExpertChoices& choices);

}  // namespace hearth
