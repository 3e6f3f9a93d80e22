// Pooling: a text's hidden states (rows [width] of the final norm's output) become one vector.
//
//   cls   the first row (BERT's [CLS])
//   mean  the mean of all rows: summed in double in the order of positions, divided by their
//         number in double, rounded to float once
//   last  the last row (a decoder's has seen the whole text)
//
// The vector is then divided by its Euclidean length: squares are summed in double in the order of
// dimensions, and each quotient is rounded once. So its bits follow from the rows alone. Fewer
// dimensions (Matryoshka representations, Kusupati et al., 2022) are the first ones of the vector,
// divided by their own length.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/model_spec.h"

namespace hearth {

// The ways of pooling that are supported; the others of PoolingType are refused.
inline constexpr PoolingType kPoolings[] = {PoolingType::kCls, PoolingType::kMean,
                                            PoolingType::kLast};

// Returns how the model's texts are pooled: as `asked`, else as the file says. Throws
// (kUnsupported) for a reranker, whatever is asked for, and (kUsage, of the field `pooling`) if
// neither says how. There is no default: llama.cpp's converters write the key only where the
// model's own files have it.
PoolingType settle_pooling(const ModelSpec& spec, std::optional<PoolingType> asked);

// Collects the rows of one text, in the order of their positions.
class Pooler {
 public:
  Pooler(PoolingType pooling, uint32_t width) : pooling_(pooling), width_(width) {}

  // Takes a row that belongs to the vector: the single one of kCls and kLast, or every one of
  // kMean.
  void add(std::span<const float> row);
  // Returns the vector, not normalised, and starts anew. At least one row must have been added.
  std::vector<float> take();

 private:
  PoolingType pooling_;
  uint32_t width_;
  uint64_t rows_ = 0;
  std::vector<double> sum_;  // used by kMean
  std::vector<float> row_;   // used by the other kinds
};

// Divides a vector by its length; one of zeros stays as it is. All elements must be finite.
void normalise(std::span<float> vector);

// Cuts the vector to its first `dimensions`, and normalises them with `normalised`. Throws Error
// (kUsage, for the field `dimensions`) if it is 0 or the vector has fewer.
void cut_dimensions(uint32_t dimensions, bool normalised, std::vector<float>* vector);
void check_dimensions(uint32_t dimensions, uint32_t width);

}  // namespace hearth
