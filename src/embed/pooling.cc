#include "embed/pooling.h"

#include <cmath>

#include "base/check.h"
#include "base/error.h"

namespace hearth {
PoolingType settle_pooling(const ModelSpec& spec, std::optional<PoolingType> asked) {
  if (spec.is_reranker()) {
    fail(ErrorCode::kUnsupported,
         "'{}' is a reranker, which scores pairs of texts and has no vectors: serve it with "
         "`hearth serve`, alone or as --rerank FILE",
         spec.source);
  }
  PoolingType pooling = asked.value_or(spec.hyper.pooling);
  if (pooling == PoolingType::kNone) {
    fail_field(ErrorCode::kUsage, "pooling",
               "is needed, as '{}' does not name its pooling (models that generate text never do): "
               "give cls, mean or last, as the model's page says",
               spec.source);
  }
  return pooling;
}

void Pooler::add(std::span<const float> row) {
  HEARTH_CHECK(row.size() == width_, "a row has the model's width");
  ++rows_;
  if (pooling_ != PoolingType::kMean) {
    row_.assign(row.begin(), row.end());
    return;
  }
  sum_.resize(width_, 0.0);
  for (size_t i = 0; i < width_; ++i) sum_[i] += static_cast<double>(row[i]);
}

std::vector<float> Pooler::take() {
  HEARTH_CHECK(rows_ > 0, "a text has rows");
  std::vector<float> vector = std::move(row_);
  if (pooling_ == PoolingType::kMean) {
    auto count = static_cast<double>(rows_);
    vector.clear();
    for (double sum : sum_) vector.push_back(static_cast<float>(sum / count));
  }
  row_.clear();
  sum_.clear();
  rows_ = 0;
  return vector;
}

void normalise(std::span<float> vector) {
  double squares = 0;
  for (float x : vector) squares += static_cast<double>(x) * static_cast<double>(x);
  if (squares == 0) return;
  double length = std::sqrt(squares);
  for (float& x : vector) x = static_cast<float>(static_cast<double>(x) / length);
}

void check_dimensions(uint32_t dimensions, uint32_t width) {
  if (dimensions >= 1 && dimensions <= width) return;
  fail_field(ErrorCode::kUsage, "dimensions",
             "is {}, but must be from 1 to {}, the width of the model's vectors", dimensions,
             width);
}

void cut_dimensions(uint32_t dimensions, bool normalised, std::vector<float>* vector) {
  check_dimensions(dimensions, static_cast<uint32_t>(vector->size()));
  vector->resize(dimensions);
  if (normalised) normalise(*vector);
}

}  // namespace hearth
