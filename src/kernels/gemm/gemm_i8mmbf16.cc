// BF16 and FP8 by bfdot, two elements of K a step, in the tiles of gemm_float-inl.h and
// gemm_fp8-inl.h. (bfmmla does twice as much, for two rows of activations; it sums in another
// order, so one row would have to take it too.)
#include <arm_bf16.h>

#include "kernels/gemm/gemm_neon-inl.h"

namespace hearth {
namespace {

struct Bf16Pair {
  bfloat16x8_t v[4];
};

inline Bf16Pair bf16_pairs(const Codes& c) {
  return {{vreinterpretq_bf16_u8(c.v[0]), vreinterpretq_bf16_u8(c.v[1]),
           vreinterpretq_bf16_u8(c.v[2]), vreinterpretq_bf16_u8(c.v[3])}};
}
inline bfloat16x8_t all_bf16_pair(const bf16_t* p) {
  uint32_t two;
  __builtin_memcpy(&two, p, sizeof two);
  return vreinterpretq_bf16_u32(vdupq_n_u32(two));
}
inline Vec16 add_pairs(const Bf16Pair& w, bfloat16x8_t x, const Vec16& acc) {
  return {vbfdotq_f32(acc.a, w.v[0], x), vbfdotq_f32(acc.b, w.v[1], x),
          vbfdotq_f32(acc.c, w.v[2], x), vbfdotq_f32(acc.d, w.v[3], x)};
}

}  // namespace
}  // namespace hearth

#include "kernels/gemm/gemm_float-inl.h"
#include "kernels/gemm/gemm_fp8-inl.h"

namespace hearth {
namespace {

struct FloatBf16Dot {
  static constexpr int kTileRows = 6;
  static constexpr size_t kStep = 2;
  static constexpr size_t kStepBytes = 64;
  using Element = bf16_t;

  static Bf16Pair load(const std::byte* codes) { return bf16_pairs(load_codes(codes)); }
  static bfloat16x8_t all(const bf16_t* x) { return all_bf16_pair(x); }
  static Vec16 add(const Bf16Pair& w, bfloat16x8_t x, const Vec16& acc) {
    return add_pairs(w, x, acc);
  }
  static const bf16_t* elements(const ActView& a) { return a.bf16; }
};

}  // namespace

void gemm_bf16_i8mmbf16(const GemmArgs& args) { gemm_float<FloatBf16Dot>(args); }
void gemm_fp8_i8mmbf16(const GemmArgs& args) { gemm_fp8(args); }

}  // namespace hearth
