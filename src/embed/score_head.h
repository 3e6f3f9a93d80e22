// ScoreHead scores how well two texts go together, from the row that a reranker makes of the pair.
// A cross-encoder's head (Nogueira and Cho 2019) reads the first row. A decoder reads the last row,
// by a head of its own or by the logits of the words yes and no, whose difference is the score
// (Qwen3-Reranker: Zhang et al. 2025). Every score is a logit: sigmoid() turns it into the
// probability of yes against no.
//
// A score is computed in double, in the order of dimensions, and rounded once: so its bits follow
// from the row alone.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/model.h"

namespace hearth {

// The tokens whose logits score a pair.
struct YesNo {
  int32_t yes = 0, no = 0;
};

class ScoreHead {
 public:
  // Copies the head's weights from the loaded model: its own head or, for a model without one, the
  // two rows of the LM head for these tokens.
  ScoreHead(const Model& model, const std::optional<YesNo>& words);

  // Returns the score of a row [width].
  float score(std::span<const float> row) const;

 private:
  // W[rows, k] and its bias.
  struct Linear {
    std::vector<std::vector<float>> rows;
    std::vector<float> bias;
  };
  static Linear copy(const WeightTable& weights, const LinearRef& linear, uint32_t rows);
  static std::vector<double> product(const Linear& linear, std::span<const double> x);

  Linear dense_;  // no rows: there is no dense layer
  Linear out_;    // one row, or two: yes, then no
};

// Returns 1 / (1 + e^-x), in double.
double sigmoid(double x);

}  // namespace hearth
