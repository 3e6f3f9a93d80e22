#include "embed/score_head.h"

#include <cmath>
#include <utility>

#include "base/check.h"

namespace hearth {

ScoreHead::Linear ScoreHead::copy(const WeightTable& weights, const LinearRef& linear,
                                  uint32_t rows) {
  // Every shard has the whole matrix, packed as f32.
  const Weight& matrix = weights.matrix(linear.weight);
  const Shard& shard = matrix.shards.front();
  Linear made{std::vector<std::vector<float>>(rows, std::vector<float>(matrix.k)), {}};
  for (uint32_t r = 0; r < rows; ++r) {
    unpack_row(shard.spec, shard.codes, shard.scales, r, made.rows[r].data());
  }
  const VectorWeight* bias = weights.optional_vector(linear.bias);
  if (bias != nullptr) made.bias.assign(bias->copies.front(), bias->copies.front() + rows);
  return made;
}

ScoreHead::ScoreHead(const Model& model, const std::optional<YesNo>& words) {
  const ModelSpec& spec = model.spec();
  if (!spec.score) {
    HEARTH_CHECK(words && spec.head, "without a head of its own a reranker has one for text");
    const Weight& head = model.weights().matrix(spec.head);
    for (int32_t token : {words->yes, words->no}) {
      std::vector<float>& row = out_.rows.emplace_back(head.k);
      weight_row(head, static_cast<uint32_t>(token), row.data());
    }
    return;
  }
  const ScoreBlock& score = *spec.score;
  if (score.dense.weight) dense_ = copy(model.weights(), score.dense, spec.hyper.width);
  out_ = copy(model.weights(), score.out, score.out_rows);
  if (score.out_rows == 1 || score.yes == 0) return;
  std::swap(out_.rows[0], out_.rows[1]);
  if (!out_.bias.empty()) std::swap(out_.bias[0], out_.bias[1]);
}

std::vector<double> ScoreHead::product(const Linear& linear, std::span<const double> x) {
  std::vector<double> y;
  for (size_t r = 0; r < linear.rows.size(); ++r) {
    double sum = linear.bias.empty() ? 0 : static_cast<double>(linear.bias[r]);
    for (size_t i = 0; i < x.size(); ++i) sum += static_cast<double>(linear.rows[r][i]) * x[i];
    y.push_back(sum);
  }
  return y;
}

float ScoreHead::score(std::span<const float> row) const {
  std::vector<double> x(row.begin(), row.end());
  if (!dense_.rows.empty()) {
    x = product(dense_, x);
    for (double& value : x) value = std::tanh(value);
  }
  const std::vector<double> scores = product(out_, x);
  return static_cast<float>(scores.size() == 1 ? scores[0] : scores[0] - scores[1]);
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace hearth
