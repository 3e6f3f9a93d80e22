// NEON kernels (gemm_float-inl.h, gemm_fp8-inl.h, gemm_int8-inl.h over four registers of 4 lanes).
// The integer dot product is sdot, which takes signed codes: codes of 4 and 6 bits are signed as
// they are, codes of 8 bits lose their offset of 128.
#include "kernels/simd/vec16_neon-inl.h"

// The headers below need the registers above.
#include "kernels/gemm/gemm_fp8_tables-inl.h"
#include "kernels/gemm/gemm_kernels.h"
#include "kernels/gemm/gemm_vec16-inl.h"

namespace hearth {
namespace {

constexpr uint32_t kInt8TileRows = 3;

struct Codes {
  uint8x16_t v[4];
};
using Four = int8x16_t;

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

inline Four load_four(const int8_t* p) {
  int32_t four;
  __builtin_memcpy(&four, p, sizeof four);
  return vreinterpretq_s8_s32(vdupq_n_s32(four));
}

template <int Bits>
struct Dots {
  static constexpr int kAtOnce = 1;
  using Prepared = Codes;
  int32x4_t v[4] = {vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0)};

  static Prepared prepare(const Codes& c) {
    if constexpr (Bits < 8) return c;
    return each_of(c, [](uint8x16_t x) { return veorq_u8(x, vdupq_n_u8(0x80)); });
  }
  void add(const Prepared (&w)[1], const Four (&x)[1]) {
    HEARTH_UNROLL
    for (size_t i = 0; i < 4; ++i) v[i] = vdotq_s32(v[i], vreinterpretq_s8_u8(w[0].v[i]), x[0]);
  }
  Vec16 sum(int32_t offset) const {
    const int32x4_t o = vdupq_n_s32(offset);
    return {vcvtq_f32_s32(vaddq_s32(v[0], o)), vcvtq_f32_s32(vaddq_s32(v[1], o)),
            vcvtq_f32_s32(vaddq_s32(v[2], o)), vcvtq_f32_s32(vaddq_s32(v[3], o))};
  }
};

inline float32x4_t even_of(uint32x4_t x) { return vreinterpretq_f32_u32(vshlq_n_u32(x, 16)); }
inline float32x4_t odd_of(uint32x4_t x) {
  return vreinterpretq_f32_u32(vandq_u32(x, vdupq_n_u32(0xffff0000)));
}
inline Vec16Pair bf16_pairs(const Codes& x) {
  const uint32x4_t a = vreinterpretq_u32_u8(x.v[0]), b = vreinterpretq_u32_u8(x.v[1]);
  const uint32x4_t c = vreinterpretq_u32_u8(x.v[2]), d = vreinterpretq_u32_u8(x.v[3]);
  return {{even_of(a), even_of(b), even_of(c), even_of(d)},
          {odd_of(a), odd_of(b), odd_of(c), odd_of(d)}};
}
inline Vec16Pair all_bf16_pair(const bf16_t* p) {
  uint32_t two;
  __builtin_memcpy(&two, p, sizeof two);
  const float32x4_t even = even_of(vdupq_n_u32(two)), odd = odd_of(vdupq_n_u32(two));
  return {{even, even, even, even}, {odd, odd, odd, odd}};
}
struct Fp8Shape {
  static constexpr int kWideRows = 1, kWidePanels = 2;
  static constexpr int kFewRows = 3, kPanels = 1;
  static constexpr int kTileRows = 4;
};

struct Fp8Pairs {
  Codes first, second;
};

struct Fp8Decoder {
  uint8x16_t upper = vld1q_u8(kFp8Upper.data());
  uint8x16_t upper_small = vld1q_u8(kFp8UpperSmall.data());
  uint8x16_t lower_small = vld1q_u8(kFp8LowerSmall.data());

  Fp8Pairs decode(const Codes& c) const {
    Fp8Pairs pairs;
    HEARTH_UNROLL
    for (size_t i = 0; i < 4; ++i) {
      // tbl gives 0 for every index from 16 on, which is ttt > 0.
      const uint8x16_t small = vandq_u8(c.v[i], vdupq_n_u8(0x7f));
      const uint8x16_t u =
          vorrq_u8(vqtbl1q_u8(upper, vshrq_n_u8(c.v[i], 4)), vqtbl1q_u8(upper_small, small));
      const uint8x16_t l = veorq_u8(vshlq_n_u8(c.v[i], 4), vqtbl1q_u8(lower_small, small));
      pairs.first.v[i] = vzip1q_u8(l, u);
      pairs.second.v[i] = vzip2q_u8(l, u);
    }
    return pairs;
  }
};

}  // namespace
}  // namespace hearth

#include "kernels/gemm/gemm_float-inl.h"
#include "kernels/gemm/gemm_fp8-inl.h"
#include "kernels/gemm/gemm_int8-inl.h"

namespace hearth {

void gemm_f32_neon(const GemmArgs& args) { gemm_float<FloatF32>(args); }
void gemm_f16_neon(const GemmArgs& args) { gemm_float<FloatF16>(args); }
void gemm_bf16_neon(const GemmArgs& args) { gemm_float<FloatBF16>(args); }
void gemm_fp8_neon(const GemmArgs& args) { gemm_fp8(args); }
void gemm_q8_0_neon(const GemmArgs& args) { gemm_int8<KindQ8_0>(args); }
void gemm_q4_0_neon(const GemmArgs& args) { gemm_int8<KindQ4_0>(args); }
void gemm_q4_k_neon(const GemmArgs& args) { gemm_int8<KindQ4_K>(args); }
void gemm_q5_k_neon(const GemmArgs& args) { gemm_int8<KindQ5_K>(args); }
void gemm_q6_k_neon(const GemmArgs& args) { gemm_int8<KindQ6_K>(args); }
void gemm_i8x32_neon(const GemmArgs& args) { gemm_int8<KindI8x32>(args); }
void gemm_i8x16_neon(const GemmArgs& args) { gemm_int8<KindI8x16>(args); }

}  // namespace hearth
