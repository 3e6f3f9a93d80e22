#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/quantize/quantize_kernels.h"

namespace hearth {
namespace {

constexpr size_t kBlock = 32;

size_t padded(const QuantizeArgs& q) { return (q.count + kBlock - 1) / kBlock * kBlock; }

// Returns element i of the range, zero in the padding.
float element(const QuantizeArgs& q, size_t i) { return i < q.count ? q.x[i] : 0.0f; }

float largest_magnitude(const QuantizeArgs& q, size_t begin) {
  float amax = 0;
  for (size_t i = begin; i < begin + kBlock; ++i) {
    float magnitude = std::fabs(element(q, i));
    if (!std::isfinite(magnitude)) return std::numeric_limits<float>::infinity();
    amax = std::max(amax, magnitude);
  }
  return amax;
}

void quantize_block(const QuantizeArgs& q, size_t begin) {
  const size_t block = (q.row * q.out.row_stride + q.first + begin) / kBlock;
  const float amax = largest_magnitude(q, begin);
  const bool finite = std::isfinite(amax);
  const bool flat = !finite || amax < kQ8MinAmax;
  const float inverse = flat ? 0.0f : 127.0f / amax;
  const float scale = !finite ? std::numeric_limits<float>::quiet_NaN() : flat ? 0 : amax / 127.0f;

  int32_t sums[2] = {0, 0};
  for (size_t j = 0; j < kBlock; ++j) {
    // Rounds to nearest, ties to even: the default mode of floating-point arithmetic.
    auto code = flat ? 0 : static_cast<int32_t>(std::lrint(element(q, begin + j) * inverse));
    q.out.codes[block * kBlock + j] = static_cast<int8_t>(code);
    sums[j / 16] += code;
  }
  q.out.scale[block] = scale;
  q.out.bias32[block] = -128 * (sums[0] + sums[1]);
  q.out.sum32[block] = scale * static_cast<float>(sums[0] + sums[1]);
  for (size_t h = 0; h < 2; ++h) {
    q.out.bias16[2 * block + h] = -128 * sums[h];
    q.out.sum16[2 * block + h] = scale * static_cast<float>(sums[h]);
  }
}

}  // namespace

void quantize_f32_reference(const QuantizeArgs& q) {
  float* out = q.out.f32 + q.row * q.out.row_stride + q.first;
  for (size_t i = 0; i < padded(q); ++i) out[i] = element(q, i);
}

void quantize_bf16_reference(const QuantizeArgs& q) {
  bf16_t* out = q.out.bf16 + q.row * q.out.row_stride + q.first;
  for (size_t i = 0; i < padded(q); ++i) out[i] = f32_to_bf16(element(q, i));
}

void quantize_q8_reference(const QuantizeArgs& q) {
  for (size_t begin = 0; begin < q.count; begin += kBlock) quantize_block(q, begin);
}

}  // namespace hearth
