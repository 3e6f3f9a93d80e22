// Vec16 in four NEON registers. kernels/simd/vec16_avx512-inl.h has its contract. Only the ISA
// files *_neon.cc include this.
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace hearth {
namespace {

struct Vec16 {
  float32x4_t a, b, c, d;

  static Vec16 all(float f) {
    return {vdupq_n_f32(f), vdupq_n_f32(f), vdupq_n_f32(f), vdupq_n_f32(f)};
  }
  static Vec16 zero() { return all(0.0f); }
  static Vec16 load(const float* p) {
    return {vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12)};
  }
  static Vec16 load_part(const float* p, uint32_t n) {
    float lanes[16] = {};
    std::memcpy(lanes, p, n * sizeof(float));
    return load(lanes);
  }
  static float32x4_t widen_f16(const uint16_t* p) {
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
  }
  static Vec16 load_f16(const uint16_t* p) {
    return {widen_f16(p), widen_f16(p + 4), widen_f16(p + 8), widen_f16(p + 12)};
  }
  static float32x4_t widen_bf16(const uint16_t* p) {
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16));
  }
  static Vec16 load_bf16(const uint16_t* p) {
    return {widen_bf16(p), widen_bf16(p + 4), widen_bf16(p + 8), widen_bf16(p + 12)};
  }
  static Vec16 load_i8(const int8_t* p) {
    int8x16_t x = vld1q_s8(p);
    int16x8_t low = vmovl_s8(vget_low_s8(x)), high = vmovl_s8(vget_high_s8(x));
    return {vcvtq_f32_s32(vmovl_s16(vget_low_s16(low))),
            vcvtq_f32_s32(vmovl_s16(vget_high_s16(low))),
            vcvtq_f32_s32(vmovl_s16(vget_low_s16(high))),
            vcvtq_f32_s32(vmovl_s16(vget_high_s16(high)))};
  }
};

struct Vec16Pair {
  Vec16 even, odd;
};

// a and b hold the first numbers of lanes 0 to 7 and 8 to 15, c and d the second ones.
struct Pairs16 {
  int16x8_t a, b, c, d;

  static Pairs16 load_i8(const int8_t* p) {
    int8x16x2_t x = vld2q_s8(p);
    return {vmovl_s8(vget_low_s8(x.val[0])), vmovl_high_s8(x.val[0]),
            vmovl_s8(vget_low_s8(x.val[1])), vmovl_high_s8(x.val[1])};
  }
  static Pairs16 all(const int16_t* p) {
    int16x8_t first = vdupq_n_s16(p[0]), second = vdupq_n_s16(p[1]);
    return {first, first, second, second};
  }
};

struct Ints16 {
  int32x4_t a, b, c, d;

  static Ints16 zero() {
    int32x4_t x = vdupq_n_s32(0);
    return {x, x, x, x};
  }
};

inline Ints16 dot(Ints16 sum, Pairs16 x, Pairs16 y) {
  sum.a = vmlal_s16(sum.a, vget_low_s16(x.a), vget_low_s16(y.a));
  sum.b = vmlal_high_s16(sum.b, x.a, y.a);
  sum.c = vmlal_s16(sum.c, vget_low_s16(x.b), vget_low_s16(y.b));
  sum.d = vmlal_high_s16(sum.d, x.b, y.b);
  sum.a = vmlal_s16(sum.a, vget_low_s16(x.c), vget_low_s16(y.c));
  sum.b = vmlal_high_s16(sum.b, x.c, y.c);
  sum.c = vmlal_s16(sum.c, vget_low_s16(x.d), vget_low_s16(y.d));
  sum.d = vmlal_high_s16(sum.d, x.d, y.d);
  return sum;
}
inline Vec16 to_floats(Ints16 x) {
  return {vcvtq_f32_s32(x.a), vcvtq_f32_s32(x.b), vcvtq_f32_s32(x.c), vcvtq_f32_s32(x.d)};
}

inline void store(float* p, Vec16 v) {
  vst1q_f32(p, v.a);
  vst1q_f32(p + 4, v.b);
  vst1q_f32(p + 8, v.c);
  vst1q_f32(p + 12, v.d);
}
inline void store_part(float* p, uint32_t n, Vec16 v) {
  float lanes[16];
  store(lanes, v);
  std::memcpy(p, lanes, n * sizeof(float));
}
inline void store_f16(uint16_t* p, Vec16 v) {
  vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(v.a)));
  vst1_u16(p + 4, vreinterpret_u16_f16(vcvt_f16_f32(v.b)));
  vst1_u16(p + 8, vreinterpret_u16_f16(vcvt_f16_f32(v.c)));
  vst1_u16(p + 12, vreinterpret_u16_f16(vcvt_f16_f32(v.d)));
}
inline uint16x4_t round_bf16(float32x4_t x) {
  uint32x4_t u = vreinterpretq_u32_f32(x);
  uint32x4_t odd = vandq_u32(vshrq_n_u32(u, 16), vdupq_n_u32(1));
  uint32x4_t rounded = vaddq_u32(vaddq_u32(u, vdupq_n_u32(0x7fff)), odd);
  uint32x4_t quiet = vorrq_u32(u, vdupq_n_u32(0x400000));
  return vshrn_n_u32(vbslq_u32(vceqq_f32(x, x), rounded, quiet), 16);
}
inline void store_bf16(uint16_t* p, Vec16 v) {
  vst1_u16(p, round_bf16(v.a));
  vst1_u16(p + 4, round_bf16(v.b));
  vst1_u16(p + 8, round_bf16(v.c));
  vst1_u16(p + 12, round_bf16(v.d));
}

inline int16x4_t round_i16(float32x4_t x) { return vqmovn_s32(vcvtnq_s32_f32(x)); }
inline void store_i16(int16_t* p, Vec16 v) {
  vst1_s16(p, round_i16(v.a));
  vst1_s16(p + 4, round_i16(v.b));
  vst1_s16(p + 8, round_i16(v.c));
  vst1_s16(p + 12, round_i16(v.d));
}

template <typename Fn>
inline Vec16 each(Vec16 x, Fn fn) {
  return {fn(x.a), fn(x.b), fn(x.c), fn(x.d)};
}
template <typename Fn>
inline Vec16 each(Vec16 x, Vec16 y, Fn fn) {
  return {fn(x.a, y.a), fn(x.b, y.b), fn(x.c, y.c), fn(x.d, y.d)};
}

inline Vec16 fma(Vec16 x, Vec16 y, Vec16 z) {
  return {vfmaq_f32(z.a, x.a, y.a), vfmaq_f32(z.b, x.b, y.b), vfmaq_f32(z.c, x.c, y.c),
          vfmaq_f32(z.d, x.d, y.d)};
}
inline Vec16 add(Vec16 x, Vec16 y) {
  return each(x, y, [](float32x4_t p, float32x4_t q) { return vaddq_f32(p, q); });
}
inline Vec16 sub(Vec16 x, Vec16 y) {
  return each(x, y, [](float32x4_t p, float32x4_t q) { return vsubq_f32(p, q); });
}
inline Vec16 mul(Vec16 x, Vec16 y) {
  return each(x, y, [](float32x4_t p, float32x4_t q) { return vmulq_f32(p, q); });
}
inline Vec16 div(Vec16 x, Vec16 y) {
  return each(x, y, [](float32x4_t p, float32x4_t q) { return vdivq_f32(p, q); });
}
inline Vec16 max(Vec16 x, Vec16 y) {
  return each(x, y, [](float32x4_t p, float32x4_t q) { return vbslq_f32(vcgtq_f32(p, q), p, q); });
}
inline Vec16 negate(Vec16 x) {
  return each(x, [](float32x4_t p) { return vnegq_f32(p); });
}
inline Vec16 absolute(Vec16 x) {
  return each(x, [](float32x4_t p) { return vabsq_f32(p); });
}
inline Vec16 round(Vec16 x) {
  return each(x, [](float32x4_t p) { return vrndnq_f32(p); });
}

inline Vec16 select_below(Vec16 x, float limit, Vec16 below, Vec16 other) {
  const float32x4_t bound = vdupq_n_f32(limit);
  return {vbslq_f32(vcltq_f32(x.a, bound), below.a, other.a),
          vbslq_f32(vcltq_f32(x.b, bound), below.b, other.b),
          vbslq_f32(vcltq_f32(x.c, bound), below.c, other.c),
          vbslq_f32(vcltq_f32(x.d, bound), below.d, other.d)};
}
inline Vec16 zero_below(Vec16 x, float limit, Vec16 y) {
  return select_below(x, limit, Vec16::zero(), y);
}
inline float32x4_t keep_four(float32x4_t x, int begin, int end, float32x4_t other) {
  const int32_t lanes[4] = {0, 1, 2, 3};
  int32x4_t lane = vld1q_s32(lanes);
  uint32x4_t from = vcgeq_s32(lane, vdupq_n_s32(begin));
  uint32x4_t to = vcltq_s32(lane, vdupq_n_s32(end));
  return vbslq_f32(vandq_u32(from, to), x, other);
}
inline Vec16 keep_lanes(Vec16 x, int begin, int end, Vec16 other) {
  return {keep_four(x.a, begin, end, other.a), keep_four(x.b, begin - 4, end - 4, other.b),
          keep_four(x.c, begin - 8, end - 8, other.c),
          keep_four(x.d, begin - 12, end - 12, other.d)};
}
inline Vec16 power_of_two(Vec16 x) {
  return each(x, [](float32x4_t p) {
    uint32x4_t exponent = vshlq_n_u32(vreinterpretq_u32_f32(p), 23);
    return vreinterpretq_f32_u32(vaddq_u32(exponent, vdupq_n_u32(0x3f800000)));
  });
}

inline float sum(Vec16 x) {
  float32x4_t x4 = vaddq_f32(vaddq_f32(x.a, x.c), vaddq_f32(x.b, x.d));
  float32x2_t x2 = vadd_f32(vget_low_f32(x4), vget_high_f32(x4));
  return vget_lane_f32(x2, 0) + vget_lane_f32(x2, 1);
}
inline float maximum(Vec16 x) {
  return vmaxvq_f32(vmaxq_f32(vmaxq_f32(x.a, x.b), vmaxq_f32(x.c, x.d)));
}

inline Vec16Pair load_pairs(const float* p) {
  float32x4x2_t x = vld2q_f32(p), y = vld2q_f32(p + 8), z = vld2q_f32(p + 16),
                w = vld2q_f32(p + 24);
  return {{x.val[0], y.val[0], z.val[0], w.val[0]}, {x.val[1], y.val[1], z.val[1], w.val[1]}};
}
inline void store_pairs(float* p, Vec16Pair v) {
  vst2q_f32(p, float32x4x2_t{{v.even.a, v.odd.a}});
  vst2q_f32(p + 8, float32x4x2_t{{v.even.b, v.odd.b}});
  vst2q_f32(p + 16, float32x4x2_t{{v.even.c, v.odd.c}});
  vst2q_f32(p + 24, float32x4x2_t{{v.even.d, v.odd.d}});
}

// These prefetch into L1, or into L2. They are inlined by force: GCC assumes that a function which
// only prefetches has no effect, and drops calls of it.
[[gnu::always_inline]] inline void prefetch(const void* p) { __builtin_prefetch(p); }
[[gnu::always_inline]] inline void prefetch_l2(const void* p) { __builtin_prefetch(p, 0, 2); }

}  // namespace
}  // namespace hearth
