// I8MM kernels of the quantised pack kinds: those of NEON with smmla, which multiplies 2 x 8 signed
// codes by 8 x 2. A register of 4 weight rows x 4 codes, zipped with that of the next group, gives
// two registers of 2 rows x 8 codes. The other operand is two rows of activations. A single row
// takes sdot, which gives the same integers.
#include <type_traits>

#include "kernels/gemm/gemm_neon-inl.h"

namespace hearth {
namespace {

constexpr uint32_t kInt8TileRows = 4;
constexpr int kInt8Panels = 1;

template <int Bits>
struct SmmlaDots {
  static constexpr int kRows = 2;
  static constexpr int kAtOnce = 2;
  static constexpr bool kTakesOffset = true;
  static constexpr size_t kBlockBytes = kBlock;
  using Group = Codes;
  struct Prepared {
    int8x16_t v[8];  // weight rows 2 i and 2 i + 1
  };
  // Products of weight rows w and activation rows x: w0 x0, w0 x1, w1 x0, w1 x1.
  int32x4_t v[8] = {};

  static Prepared prepare(const Codes (&c)[2]) {
    const Codes first = signed_codes<Bits>(c[0]), second = signed_codes<Bits>(c[1]);
    Prepared p;
    HEARTH_UNROLL
    for (size_t i = 0; i < 4; ++i) {
      const uint32x4_t a = vreinterpretq_u32_u8(first.v[i]), b = vreinterpretq_u32_u8(second.v[i]);
      p.v[2 * i] = vreinterpretq_s8_u32(vzip1q_u32(a, b));
      p.v[2 * i + 1] = vreinterpretq_s8_u32(vzip2q_u32(a, b));
    }
    return p;
  }
  // Returns 8 codes of a row: those of two groups, which may lie apart if they are nibbles of the
  // same bytes.
  static int8x8_t eight(const std::byte* x, const int (&g)[2]) {
    const auto* codes = reinterpret_cast<const int8_t*>(x);
    if (g[1] == g[0] + 1) return vld1_s8(codes + 4 * g[0]);
    int32_t first, second;
    __builtin_memcpy(&first, codes + 4 * g[0], sizeof first);
    __builtin_memcpy(&second, codes + 4 * g[1], sizeof second);
    return vreinterpret_s8_s32(vset_lane_s32(second, vdup_n_s32(first), 1));
  }
  static int8x16_t load(const std::byte* const (&x)[2], const int (&g)[2]) {
    return vcombine_s8(eight(x[0], g), eight(x[1], g));
  }
  void add(const Prepared& w, int8x16_t x) {
    HEARTH_UNROLL
    for (size_t i = 0; i < 8; ++i) v[i] = vmmlaq_s32(v[i], w.v[i], x);
  }
  Vec16 sum(int row, int32_t offset) const {
    int32x4_t own[4];
    HEARTH_UNROLL
    for (size_t i = 0; i < 4; ++i) {
      own[i] = row == 0 ? vuzp1q_s32(v[2 * i], v[2 * i + 1]) : vuzp2q_s32(v[2 * i], v[2 * i + 1]);
    }
    return to_float(own, offset);
  }
};

template <int Bits, int Rows>
using DotsFor = std::conditional_t<Rows == 1, SdotDots<Bits>, SmmlaDots<Bits>>;

}  // namespace
}  // namespace hearth

#include "kernels/gemm/gemm_int8-inl.h"

namespace hearth {

HEARTH_INT8_GEMM_KERNELS(HEARTH_DEFINE_INT8_GEMM, i8mm)

}  // namespace hearth
