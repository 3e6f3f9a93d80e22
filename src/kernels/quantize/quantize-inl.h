// The quantisers written once over an ISA level's registers: a file quantize_<level>.cc defines
//
//   struct Simd {
//     // Returns the largest magnitude of 32 floats as bits. NaN is above infinity there.
//     static uint32_t largest_bits(const float* x);
//     // codes[i] = x[i] * inverse, rounded to nearest even; sums[h]: the sum of half h.
//     static void make_codes(const float* x, float inverse, int8_t* codes, int32_t* sums);
//     // Optional. Makes four blocks, the first at element `at` of the row buffers. Returns false,
//     // with nothing written, if one of them is special (kQ8 in quantize.h).
//     static bool make_four(const float* x, const ActBuffer& out, size_t at);
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
constexpr auto kMinAmaxBits = std::bit_cast<uint32_t>(kQ8MinAmax);
constexpr uint32_t kInfinityBits = 0x7f800000;

// Calls fn(block's 32 floats, index of its first float in the row buffers) for each block of the
// range. As long as four blocks are left, four(...) is called first, with the arguments for the
// first of them. If it returns true, it has made all four, and fn is not called for them.
template <typename Fn, typename Four>
inline void for_blocks(const QuantizeArgs& q, Fn&& fn, Four&& four) {
  const size_t at = q.row * q.out.row_stride + q.first;
  size_t i = 0;
  while (i + kQuantBlock <= q.count) {
    if (i + 4 * kQuantBlock <= q.count && four(q.x + i, at + i)) {
      i += 4 * kQuantBlock;
    } else {
      fn(q.x + i, at + i);
      i += kQuantBlock;
    }
  }
  if (i == q.count) return;
  float tail[kQuantBlock] = {};
  std::memcpy(tail, q.x + i, (q.count - i) * sizeof(float));
  fn(tail, at + i);
}

template <typename Fn>
inline void for_blocks(const QuantizeArgs& q, Fn&& fn) {
  for_blocks(q, fn, [](const float*, size_t) { return false; });
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
  constexpr uint32_t kQuietNan = 0x7fc00000;
  auto block = [&](const float* x, size_t at) {
    const uint32_t largest = Simd::largest_bits(x);
    int32_t sums[2] = {0, 0};
    float scale = 0;
    if (largest < kMinAmaxBits || largest >= kInfinityBits) [[unlikely]] {
      std::memset(q.out.codes + at, 0, kQuantBlock);
      if (largest >= kInfinityBits) scale = std::bit_cast<float>(kQuietNan);
    } else {
      const auto amax = std::bit_cast<float>(largest);
      scale = amax / 127.0f;
      Simd::make_codes(x, 127.0f / amax, q.out.codes + at, sums);
    }
    write_scale_and_sums(q.out, at / kQuantBlock, scale, sums);
  };
  if constexpr (requires { &Simd::make_four; }) {
    for_blocks(q, block, [&](const float* x, size_t at) { return Simd::make_four(x, q.out, at); });
  } else {
    for_blocks(q, block);
  }
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
