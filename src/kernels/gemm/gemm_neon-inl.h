// What the GEMM files of the levels over NEON share: codes in four registers, their bits, sdot
// and the bytes of FP8.
#pragma once

#include "kernels/simd/vec16_neon-inl.h"

// The headers below need the registers above.
#include "kernels/gemm/gemm_fp8_tables-inl.h"
#include "kernels/gemm/gemm_kernels.h"
#include "kernels/gemm/gemm_vec16-inl.h"

namespace hearth {
namespace {

struct Codes {
  uint8x16_t v[4];
};

template <typename Fn>
inline Codes each_of(const Codes& c, Fn fn) {
  return {{fn(c.v[0]), fn(c.v[1]), fn(c.v[2]), fn(c.v[3])}};
}

inline Codes load_codes(const std::byte* p) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(p);
  return {{vld1q_u8(bytes), vld1q_u8(bytes + 16), vld1q_u8(bytes + 32), vld1q_u8(bytes + 48)}};
}
inline void store_codes(std::byte* p, const Codes& c) {
  for (size_t i = 0; i < 4; ++i) vst1q_u8(reinterpret_cast<uint8_t*>(p) + 16 * i, c.v[i]);
}

inline Codes low_nibbles(const Codes& c) {
  return each_of(c, [](uint8x16_t x) { return vandq_u8(x, vdupq_n_u8(0x0f)); });
}
inline Codes high_nibbles(const Codes& c) {
  return each_of(c, [](uint8x16_t x) { return vshrq_n_u8(x, 4); });
}
// Returns nibbles | (bits shifted left by `left`, right if negative, & mask), with the mask in
// every byte.
inline Codes with_bits(const Codes& nibbles, const Codes& bits, int left, uint8_t mask) {
  const int8x16_t shift = vdupq_n_s8(static_cast<int8_t>(left));
  Codes out;
  HEARTH_UNROLL
  for (size_t j = 0; j < 4; ++j) {
    uint8x16_t high = vandq_u8(vshlq_u8(bits.v[j], shift), vdupq_n_u8(mask));
    out.v[j] = vorrq_u8(nibbles.v[j], high);
  }
  return out;
}
inline Codes with_fifth_bit(const Codes& nibbles, const Codes& bits, int i) {
  return with_bits(nibbles, bits, 4 - i, 0x10);
}
inline Codes with_high_bits(const Codes& nibbles, const Codes& bits, int i) {
  return with_bits(nibbles, bits, 4 - 2 * i, 0x30);
}

inline Vec16 load_u8(const std::byte* p) {
  uint8x16_t x = vld1q_u8(reinterpret_cast<const uint8_t*>(p));
  uint16x8_t low = vmovl_u8(vget_low_u8(x)), high = vmovl_u8(vget_high_u8(x));
  return {vcvtq_f32_u32(vmovl_u16(vget_low_u16(low))), vcvtq_f32_u32(vmovl_u16(vget_high_u16(low))),
          vcvtq_f32_u32(vmovl_u16(vget_low_u16(high))),
          vcvtq_f32_u32(vmovl_u16(vget_high_u16(high)))};
}

inline int8x16_t load_four(const std::byte* p) {
  int32_t four;
  __builtin_memcpy(&four, p, sizeof four);
  return vreinterpretq_s8_s32(vdupq_n_s32(four));
}

// Signed, without the offset of codes of 8 bits.
template <int Bits>
inline Codes signed_codes(const Codes& c) {
  if constexpr (Bits < 8) return c;
  return each_of(c, [](uint8x16_t x) { return veorq_u8(x, vdupq_n_u8(0x80)); });
}

inline Vec16 to_float(const int32x4_t (&v)[4], int32_t offset) {
  const int32x4_t o = vdupq_n_s32(offset);
  return {vcvtq_f32_s32(vaddq_s32(v[0], o)), vcvtq_f32_s32(vaddq_s32(v[1], o)),
          vcvtq_f32_s32(vaddq_s32(v[2], o)), vcvtq_f32_s32(vaddq_s32(v[3], o))};
}

template <int Bits>
struct SdotDots {
  static constexpr int kRows = 1;
  static constexpr int kAtOnce = 1;
  static constexpr bool kTakesOffset = true;
  static constexpr size_t kBlockBytes = kBlock;
  using Group = Codes;
  int32x4_t v[4] = {vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0)};

  static Codes prepare(const Codes (&c)[1]) { return signed_codes<Bits>(c[0]); }
  static int8x16_t load(const std::byte* const (&x)[1], const int (&g)[1]) {
    return load_four(x[0] + 4 * g[0]);
  }
  void add(const Codes& w, int8x16_t x) {
    HEARTH_UNROLL
    for (size_t i = 0; i < 4; ++i) v[i] = vdotq_s32(v[i], vreinterpretq_s8_u8(w.v[i]), x);
  }
  Vec16 sum(int, int32_t offset) const { return to_float(v, offset); }
};

struct Fp8Pairs {
  Codes first, second;
};

// Makes of 16 codes the lower bytes of as many bf16 (val[0]) and the upper ones.
struct Fp8Bytes {
  uint8x16_t upper = vld1q_u8(kFp8Upper.data());
  uint8x16_t upper_small = vld1q_u8(kFp8UpperSmall.data());
  uint8x16_t lower_small = vld1q_u8(kFp8LowerSmall.data());

  uint8x16x2_t of(uint8x16_t c) const {
    // tbl gives 0 for every index from 16 on, which is ttt > 0.
    const uint8x16_t small = vandq_u8(c, vdupq_n_u8(0x7f));
    return {veorq_u8(vshlq_n_u8(c, 4), vqtbl1q_u8(lower_small, small)),
            vorrq_u8(vqtbl1q_u8(upper, vshrq_n_u8(c, 4)), vqtbl1q_u8(upper_small, small))};
  }
};

}  // namespace
}  // namespace hearth
