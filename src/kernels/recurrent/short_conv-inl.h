// The convolution of short_conv.h over Vec16 (kernels/simd/). ISA files include it after their
// Vec16. It goes row by row, since rows lie far apart and channels side by side.
#pragma once

#include <cstring>

#include "kernels/activation/activation-inl.h"
#include "kernels/recurrent/short_conv.h"
#include "kernels/simd/unroll.h"

namespace hearth {
namespace {

// Returns input `row` at channel 0. Rows below 0 are those of the state; null if the state is
// zeros.
inline const float* conv_input(const ShortConvArgs& a, int64_t row) {
  if (row >= 0) return a.x + static_cast<size_t>(row) * a.x_stride;
  if (a.from == nullptr) return nullptr;
  return a.from + static_cast<size_t>(row + a.taps - 1) * a.state_stride;
}

// The inputs that one output row is computed from, the oldest first.
struct ConvInputs {
  const float* x[kMaxConvTaps];
  bool zeros = false;  // some are null

  ConvInputs(const ShortConvArgs& a, uint32_t t) {
    for (uint32_t j = 0; j < a.taps; ++j) {
      x[j] = conv_input(a, int64_t{t} + j + 1 - a.taps);
      zeros = zeros || x[j] == nullptr;
    }
  }
};

// Returns the sum for 16 channels from c on; load(p) reads those that exist. kTaps 0: the number of
// taps is that of the arguments, and some inputs may be null.
template <uint32_t kTaps, typename Load>
inline Vec16 conv_sum(const ShortConvArgs& a, const ConvInputs& in, uint32_t c, const Load& load) {
  Vec16 y = Vec16::zero();
  const uint32_t taps = kTaps == 0 ? a.taps : kTaps;
  HEARTH_UNROLL
  for (uint32_t j = 0; j < taps; ++j) {
    const Vec16 weight = load(a.weight + j * a.weight_stride + c);
    const bool none = kTaps == 0 && in.x[j] == nullptr;
    const Vec16 x = none ? Vec16::zero() : load(in.x[j] + c);
    y = j == 0 ? mul(weight, x) : fma(weight, x, y);
  }
  return y;
}

template <uint32_t kTaps>
inline void conv_row(const ShortConvArgs& a, const ConvInputs& in, float* out) {
  const uint32_t whole = a.channels / 16 * 16, rest = a.channels - whole;
  auto load = [](const float* p) { return Vec16::load(p); };
  for (uint32_t c = 0; c < whole; c += 16) {
    store(out + c, silu(conv_sum<kTaps>(a, in, c, load)));
  }
  if (rest == 0) return;
  auto load_rest = [rest](const float* p) { return Vec16::load_part(p, rest); };
  store_part(out + whole, rest, silu(conv_sum<kTaps>(a, in, whole, load_rest)));
}

// Writes the new state, beginning with the oldest input. Each input lies behind the place that it
// is written to, so `to` may be `from`.
inline void keep_conv_state(const ShortConvArgs& a) {
  const size_t bytes = a.channels * sizeof(float);
  for (uint32_t i = 0; i + 1 < a.taps; ++i) {
    float* to = a.to + i * a.state_stride;
    const float* from = conv_input(a, int64_t{a.rows} + i + 1 - a.taps);
    if (from == nullptr) {
      std::memset(to, 0, bytes);
    } else {
      std::memmove(to, from, bytes);
    }
  }
}

inline void short_conv(const ShortConvArgs& a) {
  for (uint32_t t = 0; t < a.rows; ++t) {
    const ConvInputs in(a, t);
    float* out = a.out + t * a.out_stride;
    if (a.taps == 4 && !in.zeros) {
      conv_row<4>(a, in, out);
    } else {
      conv_row<0>(a, in, out);
    }
  }
  keep_conv_state(a);
}

}  // namespace
}  // namespace hearth
