// The convolution of short_conv.h over Vec16 (kernels/simd/), for ISA files, which include it after
// their Vec16.
#pragma once

#include <cstring>

#include "kernels/activation/activation-inl.h"
#include "kernels/recurrent/short_conv.h"

namespace hearth {
namespace {

// Input `row` of channel c and those after it: of the state where row is below 0.
inline const float* conv_input(const ShortConvArgs& a, int64_t row, uint32_t c) {
  if (row >= 0) return a.x + static_cast<size_t>(row) * a.x_stride + c;
  return a.from + static_cast<size_t>(row + a.taps - 1) * a.state_stride + c;
}

// Channels [c, c + n) of all rows; load(p) reads n floats.
template <typename Load, typename Store>
inline void conv_columns(const ShortConvArgs& a, uint32_t c, const Load& load,
                         const Store& store_to) {
  Vec16 weight[kMaxConvTaps];
  for (uint32_t j = 0; j < a.taps; ++j) weight[j] = load(a.weight + j * a.weight_stride + c);
  const int64_t before = static_cast<int64_t>(a.taps) - 1;
  for (int64_t t = 0; t < a.rows; ++t) {
    Vec16 y = Vec16::zero();
    for (uint32_t j = 0; j < a.taps; ++j) {
      const int64_t row = t - before + j;
      const Vec16 x = row < 0 && a.from == nullptr ? Vec16::zero() : load(conv_input(a, row, c));
      y = j == 0 ? mul(weight[0], x) : fma(weight[j], x, y);
    }
    store_to(a.out + static_cast<size_t>(t) * a.out_stride + c, silu(y));
  }
}

// The last inputs, from the oldest on: what is read lies behind what was written.
inline void keep_conv_state(const ShortConvArgs& a) {
  const size_t bytes = a.channels * sizeof(float);
  const int64_t before = static_cast<int64_t>(a.taps) - 1;
  for (int64_t i = 0; i < before; ++i) {
    float* to = a.to + static_cast<size_t>(i) * a.state_stride;
    const int64_t row = a.rows + i - before;
    if (row < 0 && a.from == nullptr) {
      std::memset(to, 0, bytes);
    } else {
      std::memmove(to, conv_input(a, row, 0), bytes);
    }
  }
}

inline void short_conv(const ShortConvArgs& a) {
  const uint32_t whole = a.channels / 16 * 16, rest = a.channels - whole;
  for (uint32_t c = 0; c < whole; c += 16) {
    conv_columns(
        a, c, [](const float* p) { return Vec16::load(p); },
        [](float* p, Vec16 y) { store(p, y); });
  }
  if (rest > 0) {
    conv_columns(
        a, whole, [rest](const float* p) { return Vec16::load_part(p, rest); },
        [rest](float* p, Vec16 y) { store_part(p, rest, y); });
  }
  keep_conv_state(a);
}

}  // namespace
}  // namespace hearth
