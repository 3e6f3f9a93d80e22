#include "kernels/simd/vec16_neon-inl.h"
// The header below needs Vec16 before it.
#include "kernels/quantize/quantize-inl.h"

namespace hearth {
namespace {

struct Simd {
  static uint32x4_t magnitude(const float* x) {
    return vreinterpretq_u32_f32(vabsq_f32(vld1q_f32(x)));
  }
  static uint32_t largest_bits(const float* x) {
    uint32x4_t m = magnitude(x);
    for (size_t i = 4; i < kQuantBlock; i += 4) m = vmaxq_u32(m, magnitude(x + i));
    return vmaxvq_u32(m);
  }
  static int32x4_t round_four(const float* x, float inverse) {
    return vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(x), inverse));
  }
  static void make_codes(const float* x, float inverse, int8_t* codes, int32_t* sums) {
    for (size_t h = 0; h < 2; ++h, x += 16, codes += 16) {
      int32x4_t a = round_four(x, inverse), b = round_four(x + 4, inverse);
      int32x4_t c = round_four(x + 8, inverse), d = round_four(x + 12, inverse);
      sums[h] = vaddvq_s32(vaddq_s32(vaddq_s32(a, b), vaddq_s32(c, d)));
      int16x8_t low = vcombine_s16(vmovn_s32(a), vmovn_s32(b));
      int16x8_t high = vcombine_s16(vmovn_s32(c), vmovn_s32(d));
      vst1q_s8(codes, vcombine_s8(vmovn_s16(low), vmovn_s16(high)));
    }
  }
};

}  // namespace

void quantize_f32_neon(const QuantizeArgs& args) { quantize_f32(args); }
void quantize_bf16_neon(const QuantizeArgs& args) { quantize_bf16(args); }
void quantize_q8_neon(const QuantizeArgs& args) { quantize_q8<Simd>(args); }

}  // namespace hearth
