// Common code of the GEMM files of the levels over NEON: codes in four registers, their bits, sdot
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
inline Codes bits_of(const Codes& c, int left, uint8_t mask) {
  const int8x16_t shift = vdupq_n_s8(static_cast<int8_t>(left));
  return each_of(c, [=](uint8x16_t x) { return vandq_u8(vshlq_u8(x, shift), vdupq_n_u8(mask)); });
}
inline Codes with_bits(const Codes& low, const Codes& c, int left, uint8_t mask) {
  const Codes bits = bits_of(c, left, mask);
  Codes out;
  HEARTH_UNROLL
  for (size_t j = 0; j < 4; ++j) out.v[j] = vorrq_u8(low.v[j], bits.v[j]);
  return out;
}

struct Table {
  uint8x16_t x;
};
inline Table load_table(const int8_t* values) {
  return {veorq_u8(vreinterpretq_u8_s8(vld1q_s8(values)), vdupq_n_u8(0x80))};
}
inline Codes look_up(const Table& table, const Codes& c) {
  return each_of(c, [&](uint8x16_t x) { return vqtbl1q_u8(table.x, x); });
}

inline uint8x16_t sixteen_bytes(const std::byte* p) {
  return vld1q_u8(reinterpret_cast<const uint8_t*>(p));
}
// 16 bytes as 32-bit numbers, four a register.
struct Words16 {
  uint32x4_t v[4];
};
inline Words16 words_of(uint8x16_t x) {
  const uint16x8_t low = vmovl_u8(vget_low_u8(x)), high = vmovl_u8(vget_high_u8(x));
  return {{vmovl_u16(vget_low_u16(low)), vmovl_u16(vget_high_u16(low)),
           vmovl_u16(vget_low_u16(high)), vmovl_u16(vget_high_u16(high))}};
}
inline Vec16 floats_of(uint8x16_t x) {
  const Words16 w = words_of(x);
  return {vcvtq_f32_u32(w.v[0]), vcvtq_f32_u32(w.v[1]), vcvtq_f32_u32(w.v[2]),
          vcvtq_f32_u32(w.v[3])};
}
inline Vec16 load_u8(const std::byte* p) { return floats_of(sixteen_bytes(p)); }
inline Vec16 load_low_four(const std::byte* p) {
  return floats_of(vandq_u8(sixteen_bytes(p), vdupq_n_u8(15)));
}
inline Vec16 load_high_four(const std::byte* p) {
  return floats_of(vshrq_n_u8(sixteen_bytes(p), 4));
}

inline Vec16 load_e8m0(const std::byte* p) {
  const Words16 w = words_of(sixteen_bytes(p));
  auto four = [](uint32x4_t x) {
    return vreinterpretq_f32_u32(vmaxq_u32(vshlq_n_u32(x, 23), vdupq_n_u32(0x00400000)));
  };
  return {four(w.v[0]), four(w.v[1]), four(w.v[2]), four(w.v[3])};
}
// A shifted E4M3 number, read as binary16, is 2^-8 times its value.
inline Vec16 load_e4m3(const std::byte* p) {
  const uint8x16_t x = sixteen_bytes(p);
  auto eight = [](uint8x8_t bytes) {
    return vreinterpretq_f16_u16(vshlq_n_u16(vmovl_u8(bytes), 7));
  };
  const float16x8_t low = eight(vget_low_u8(x)), high = eight(vget_high_u8(x));
  auto four = [](float16x4_t halves) { return vmulq_n_f32(vcvt_f32_f16(halves), 256.0f); };
  return {four(vget_low_f16(low)), four(vget_high_f16(low)), four(vget_low_f16(high)),
          four(vget_high_f16(high))};
}

inline int8x16_t load_four(const std::byte* p) {
  int32_t four;
  __builtin_memcpy(&four, p, sizeof four);
  return vreinterpretq_s8_s32(vdupq_n_s32(four));
}

// Returns codes as signed bytes, those of 8 bits without their offset.
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

// Converts 16 codes to the lower bytes (val[0]) and the upper bytes (val[1]) of as many bf16.
struct Fp8Bytes {
  uint8x16_t upper = vld1q_u8(kFp8Upper.data());
  uint8x16_t upper_small = vld1q_u8(kFp8UpperSmall.data());
  uint8x16_t lower_small = vld1q_u8(kFp8LowerSmall.data());

  uint8x16x2_t of(uint8x16_t c) const {
    // tbl gives 0 for every index from 16 on, so ttt > 0 gives 0.
    const uint8x16_t small = vandq_u8(c, vdupq_n_u8(0x7f));
    return {veorq_u8(vshlq_n_u8(c, 4), vqtbl1q_u8(lower_small, small)),
            vorrq_u8(vqtbl1q_u8(upper, vshrq_n_u8(c, 4)), vqtbl1q_u8(upper_small, small))};
  }
};

}  // namespace
}  // namespace hearth
