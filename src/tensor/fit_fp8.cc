#include "tensor/fit_fp8.h"

#include <algorithm>
#include <cstdint>

#include "tensor/fit_block.h"
#include "tensor/pack_fp8.h"

namespace hearth {
namespace {

static_assert(kFp8Elements == kFp8ScaleBlock);
constexpr size_t kMaxFp8Lanes = 16;

// Holds the last blocks of a row, padded with zeros. They are fewer than the lanes, or the last one
// has fewer than 128 elements.
struct LastFp8Blocks {
  float x[kMaxFp8Lanes * kFp8ScaleBlock] = {}, weights[kMaxFp8Lanes * kFp8ScaleBlock] = {};
  float scales[kMaxFp8Lanes];
  uint8_t codes[kMaxFp8Lanes * kFp8ScaleBlock];
};

void fit_last(const FitLevel& level, const float* x, size_t n, const float* weights, e4m3_t* codes,
              float* scales) {
  LastFp8Blocks last;
  std::copy_n(x, n, last.x);
  if (weights != nullptr) std::copy_n(weights, n, last.weights);
  level.fp8(last.x, weights == nullptr ? nullptr : last.weights, last.scales, last.codes);
  std::copy_n(last.codes, n, codes);
  std::copy_n(last.scales, fp8_scale_blocks(n), scales);
}

}  // namespace

void fit_fp8(const float* x, size_t n, const float* weights, e4m3_t* codes, float* scales) {
  const FitLevel& level = *fit_levels().back();
  const size_t step = level.lanes * kFp8ScaleBlock;
  for (size_t at = 0; at < n; at += step) {
    const float* counts = weights == nullptr ? nullptr : weights + at;
    float* own = scales + at / kFp8ScaleBlock;
    if (n - at >= step) {
      level.fp8(x + at, counts, own, codes + at);
    } else {
      fit_last(level, x + at, n - at, counts, codes + at, own);
    }
  }
}

}  // namespace hearth
