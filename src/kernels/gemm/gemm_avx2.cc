// AVX2 kernels (gemm_float-inl.h, gemm_fp8-inl.h, gemm_int8-inl.h over two registers of 8 lanes).
//
// The integer dot product is vpmaddubsw: unsigned times signed bytes, pairs added to 16 bits with
// saturation, which must not happen:
//   4 bits: a pair is at most 2 * 15 * 127 = 3810, so all 8 groups of a block fit 16 bits (30480)
//   6 bits: 2 * 63 * 127 = 16002, so two groups do
//   8 bits: |w| times sign(a, w), 2 * 128 * 127 = 32512, so one group does
// With many rows codes of 8 bits become int16 (vpmaddwd), so no sign is moved and no sum is
// widened. That takes 4 instructions for 32 products: as many multiplications as with few rows, and
// one fewer of the other instructions that share their ports. Codes of 4 bits take 2 instructions.
#include "kernels/gemm/gemm_avx2-inl.h"

namespace hearth {
namespace {

constexpr uint32_t kInt8TileRows = 4;
constexpr int kInt8Panels = 4;

inline __m256i pairs_to_32(__m256i x) { return _mm256_madd_epi16(x, _mm256_set1_epi16(1)); }

// Adds to `sum` at exactly this place in the code. GCC would turn a chain of integer additions into
// a tree, whose leaves take more than all registers (a tile is then a third slower).
inline void accumulate16(__m256i& sum, __m256i x) {
  sum = _mm256_add_epi16(sum, x);
  asm("" : "+x"(sum));
}
inline void accumulate32(__m256i& sum, __m256i x) {
  sum = _mm256_add_epi32(sum, x);
  asm("" : "+x"(sum));
}

struct WideCodes {
  Codes even, odd;
};

inline __m256i even_words(__m256i x) { return _mm256_srai_epi16(_mm256_slli_epi16(x, 8), 8); }
inline __m256i odd_words(__m256i x) { return _mm256_srai_epi16(x, 8); }

inline Codes without_offset(Codes c) {
  const __m256i offset = _mm256_set1_epi8(-128);
  return {_mm256_xor_si256(c.a, offset), _mm256_xor_si256(c.b, offset)};
}
inline WideCodes widen_codes(Codes c) {
  c = without_offset(c);
  return {{even_words(c.a), even_words(c.b)}, {odd_words(c.a), odd_words(c.b)}};
}
inline void widen_block(const int8_t* x, std::byte* to) {
  const __m256i codes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
  store_codes(to, {even_words(codes), odd_words(codes)});
}

template <int Bits>
struct Dots;

template <>
struct Dots<4> : OneRow {
  static constexpr int kAtOnce = 1;
  __m256i a = _mm256_setzero_si256(), b = _mm256_setzero_si256();  // sums of 16 bits

  static Codes prepare(const Codes (&c)[1]) { return c[0]; }
  static __m256i load(const std::byte* const (&x)[1], const int (&g)[1]) {
    return load_four(x[0] + 4 * g[0]);
  }
  void add(const Codes& w, __m256i x) {
    accumulate16(a, _mm256_maddubs_epi16(w.a, x));
    accumulate16(b, _mm256_maddubs_epi16(w.b, x));
  }
  Vec16 sum(int, int32_t offset) const { return to_float(pairs_to_32(a), pairs_to_32(b), offset); }
};

template <>
struct Dots<6> : OneRow {
  static constexpr int kAtOnce = 2;
  struct Two {
    Codes c[2];
  };
  struct Fours {
    __m256i x[2];
  };
  __m256i a = _mm256_setzero_si256(), b = _mm256_setzero_si256();

  static Two prepare(const Codes (&c)[2]) { return {{c[0], c[1]}}; }
  static Fours load(const std::byte* const (&x)[1], const int (&g)[2]) {
    return {{load_four(x[0] + 4 * g[0]), load_four(x[0] + 4 * g[1])}};
  }
  void add(const Two& w, const Fours& x) {
    accumulate32(a, two_groups(w.c[0].a, x.x[0], w.c[1].a, x.x[1]));
    accumulate32(b, two_groups(w.c[0].b, x.x[0], w.c[1].b, x.x[1]));
  }
  static __m256i two_groups(__m256i w0, __m256i x0, __m256i w1, __m256i x1) {
    return pairs_to_32(
        _mm256_add_epi16(_mm256_maddubs_epi16(w0, x0), _mm256_maddubs_epi16(w1, x1)));
  }
  Vec16 sum(int, int32_t offset) const { return to_float(a, b, offset); }
};

template <>
struct Dots<8> : OneRow {
  static constexpr int kAtOnce = 1;
  static constexpr bool kTakesOffset = true;
  struct Prepared {
    Codes code, magnitude;
  };
  __m256i a = _mm256_setzero_si256(), b = _mm256_setzero_si256();

  static Prepared prepare(const Codes (&c)[1]) {
    const Codes code = without_offset(c[0]);
    // |-128| is 128 as an unsigned byte.
    return {code, {_mm256_abs_epi8(code.a), _mm256_abs_epi8(code.b)}};
  }
  static __m256i load(const std::byte* const (&x)[1], const int (&g)[1]) {
    return load_four(x[0] + 4 * g[0]);
  }
  void add(const Prepared& w, __m256i x) {
    accumulate32(a, group(w.magnitude.a, w.code.a, x));
    accumulate32(b, group(w.magnitude.b, w.code.b, x));
  }
  static __m256i group(__m256i magnitude, __m256i code, __m256i x) {
    return pairs_to_32(_mm256_maddubs_epi16(magnitude, _mm256_sign_epi8(x, code)));
  }
  Vec16 sum(int, int32_t offset) const { return to_float(a, b, offset); }
};

template <>
struct Dots<16> : OneRow {
  static constexpr int kAtOnce = 1;
  static constexpr size_t kBlockBytes = 64;
  using Group = WideCodes;
  struct Fours {
    __m256i even, odd;
  };
  __m256i a = _mm256_setzero_si256(), b = _mm256_setzero_si256();

  static WideCodes prepare(const WideCodes (&c)[1]) { return c[0]; }
  static Fours load(const std::byte* const (&x)[1], const int (&g)[1]) {
    return {load_four(x[0] + 4 * g[0]), load_four(x[0] + 32 + 4 * g[0])};
  }
  void add(const WideCodes& w, const Fours& x) {
    accumulate32(a, _mm256_madd_epi16(w.even.a, x.even));
    accumulate32(b, _mm256_madd_epi16(w.even.b, x.even));
    accumulate32(a, _mm256_madd_epi16(w.odd.a, x.odd));
    accumulate32(b, _mm256_madd_epi16(w.odd.b, x.odd));
  }
  Vec16 sum(int, int32_t offset) const { return to_float(a, b, offset); }
};

template <int Bits, int Rows>
using DotsFor = Dots<Bits>;

}  // namespace
}  // namespace hearth

#include "kernels/gemm/gemm_bf16-inl.h"
#include "kernels/gemm/gemm_fp8_pairs-inl.h"
#include "kernels/gemm/gemm_int8_wide-inl.h"

// This header needs the sums above.
#include "kernels/gemm/gemm_fp8_widen-inl.h"

namespace hearth {

constinit const GemmMenu menu_f32_avx2 = kFloatMenu<FloatF32>;
constinit const GemmMenu menu_f16_avx2 = kFloatMenu<FloatF16>;
constinit const GemmMenu menu_bf16_avx2 = kBf16Menu;
constinit const GemmMenu menu_fp8_avx2 = kFp8Menu;
constinit const GemmMenu menu_fp8_rows_avx2 = kFp8Menu;

void gemm_f32_avx2(const GemmArgs& args) { gemm_float<FloatF32>(args); }
void gemm_f16_avx2(const GemmArgs& args) { gemm_float<FloatF16>(args); }
void gemm_bf16_avx2(const GemmArgs& args) { gemm_bf16(args); }
void gemm_fp8_avx2(const GemmArgs& args) { gemm_fp8_widened<SharedFp8Scale>(args); }
void gemm_fp8_rows_avx2(const GemmArgs& args) { gemm_fp8_widened<OwnFp8Scales>(args); }
HEARTH_INT8_GEMM_KERNELS(HEARTH_DEFINE_WIDE_GEMM, avx2)

}  // namespace hearth
