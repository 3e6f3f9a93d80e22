// NEON kernels (gemm_float-inl.h, gemm_fp8-inl.h, gemm_int8-inl.h over four registers of 4 lanes).
// The integer dot product is sdot, which takes signed codes. Codes of 4 and 6 bits are valid signed
// bytes as they are; codes of 8 bits lose their offset of 128.
#include "kernels/gemm/gemm_neon-inl.h"

namespace hearth {
namespace {

constexpr uint32_t kInt8TileRows = 3;
constexpr int kInt8Panels = 1;

template <int Bits, int Rows>
using DotsFor = SdotDots<Bits>;

struct Fp8Shape {
  static constexpr int kWideRows = 1, kWidePanels = 2;
  static constexpr int kFewRows = 3, kPanels = 1;
  static constexpr int kTileRows = 6;
};

struct Fp8Decoder : Fp8Bytes {
  Fp8Pairs decode(const Codes& c) const {
    Fp8Pairs pairs;
    HEARTH_UNROLL
    for (size_t i = 0; i < 4; ++i) {
      const uint8x16x2_t bytes = of(c.v[i]);
      pairs.first.v[i] = vzip1q_u8(bytes.val[0], bytes.val[1]);
      pairs.second.v[i] = vzip2q_u8(bytes.val[0], bytes.val[1]);
    }
    return pairs;
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
inline Vec16Pair load_bf16_pairs(const std::byte* p) { return bf16_pairs(load_codes(p)); }
inline Vec16Pair all_bf16_pair(const bf16_t* p) {
  uint32_t two;
  __builtin_memcpy(&two, p, sizeof two);
  const float32x4_t even = even_of(vdupq_n_u32(two)), odd = odd_of(vdupq_n_u32(two));
  return {{even, even, even, even}, {odd, odd, odd, odd}};
}

}  // namespace
}  // namespace hearth

#include "kernels/gemm/gemm_bf16-inl.h"
#include "kernels/gemm/gemm_fp8_pairs-inl.h"

// This header needs the sums above.
#include "kernels/gemm/gemm_fp8_widen-inl.h"
#include "kernels/gemm/gemm_int8-inl.h"

namespace hearth {

constinit const GemmMenu menu_f32_neon = kFloatMenu<FloatF32>;
constinit const GemmMenu menu_f16_neon = kFloatMenu<FloatF16>;
constinit const GemmMenu menu_bf16_neon = kBf16Menu;
constinit const GemmMenu menu_fp8_neon = kFp8Menu;
constinit const GemmMenu menu_fp8_rows_neon = kFp8Menu;

void gemm_f32_neon(const GemmArgs& args) { gemm_float<FloatF32>(args); }
void gemm_f16_neon(const GemmArgs& args) { gemm_float<FloatF16>(args); }
void gemm_bf16_neon(const GemmArgs& args) { gemm_bf16(args); }
void gemm_fp8_neon(const GemmArgs& args) { gemm_fp8_widened<SharedFp8Scale>(args); }
void gemm_fp8_rows_neon(const GemmArgs& args) { gemm_fp8_widened<OwnFp8Scales>(args); }
HEARTH_INT8_GEMM_KERNELS(HEARTH_DEFINE_INT8_GEMM, neon)

}  // namespace hearth
