// The quantisers written once over an ISA level's registers: a file quantize_<level>.cc defines
//
//   struct Simd {
//     // The largest magnitude of 32 floats as bits: of a NaN they are above those of infinity.
//     static uint32_t largest_bits(const float* x);
//     // codes[i] = x[i] * inverse, rounded to nearest even; sums[h]: those of half h.
//     static void make_codes(const float* x, float inverse, int8_t* codes, int32_t* sums);
//   };
//
// and includes that level's Vec16 before this file.
#pragma once

#include <bit>
#include <cstring>

#include "kernels/quantize/quantize_kernels.h"

namespace hearth {
namespace {

constexpr size_t kQuantBlock = 32;

// Calls fn(block's 32 floats, index of its first in the row buffers) for each block of the range.
template <typename Fn>
inline void for_blocks(const QuantizeArgs& q, Fn&& fn) {
  const size_t at = q.row * q.out.row_stride + q.first;
  size_t i = 0;
  for (; i + kQuantBlock <= q.count; i += kQuantBlock) fn(q.x + i, at + i);
  if (i == q.count) return;
  float tail[kQuantBlock] = {};
  std::memcpy(tail, q.x + i, (q.count - i) * sizeof(float));
  fn(tail, at + i);
}

inline void write_scale_and_sums(const ActBuffer& out, size_t block, float scale,
                                 const int32_t (&sums)[2]) {
  const int32_t sum = sums[0] + sums[1];
  out.scale[block] = scale;
  out.bias32[block] = -128 * sum;
  out.sum32[block] = scale * static_cast<float>(sum);
  for (size_t h = 0; h < 2; ++h) {
    out.bias16[2 * block + h] = -128 * sums[h];
    out.sum16[2 * block + h] = scale * static_cast<float>(sums[h]);
  }
}

template <typename Simd>
void quantize_q8(const QuantizeArgs& q) {
  constexpr auto kLeast = std::bit_cast<uint32_t>(kQ8Least);
  constexpr uint32_t kInfinity = 0x7f800000, kQuietNan = 0x7fc00000;
  for_blocks(q, [&](const float* x, size_t at) {
    const uint32_t largest = Simd::largest_bits(x);
    int32_t sums[2] = {0, 0};
    float scale = 0;
    if (largest < kLeast || largest >= kInfinity) [[unlikely]] {
      std::memset(q.out.codes + at, 0, kQuantBlock);
      if (largest >= kInfinity) scale = std::bit_cast<float>(kQuietNan);
    } else {
      const auto amax = std::bit_cast<float>(largest);
      scale = amax / 127.0f;
      Simd::make_codes(x, 127.0f / amax, q.out.codes + at, sums);
    }
    write_scale_and_sums(q.out, at / kQuantBlock, scale, sums);
  });
}

void quantize_f32(const QuantizeArgs& q) {
  for_blocks(q, [&](const float* x, size_t at) {
    std::memcpy(q.out.f32 + at, x, kQuantBlock * sizeof(float));
  });
}

void quantize_bf16(const QuantizeArgs& q) {
  for_blocks(q, [&](const float* x, size_t at) {
    store_bf16(q.out.bf16 + at, Vec16::load(x));
    store_bf16(q.out.bf16 + at + 16, Vec16::load(x + 16));
  });
}

}  // namespace
}  // namespace hearth
