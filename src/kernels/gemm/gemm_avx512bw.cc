// AVX-512 kernels of the quantised pack kinds and of FP8 for processors without VNNI and BF16
// (gemm_int8-inl.h, gemm_fp8-inl.h over a register of 16 lanes). They are like gemm_avx2.cc, except
// that codes of 8 bits are always multiplied as int16.
#include <cstring>

#include "kernels/gemm/gemm_avx512_bytes-inl.h"
#include "kernels/gemm/gemm_avx512_fp8-inl.h"
#include "kernels/gemm/gemm_vec16-inl.h"

namespace hearth {
namespace {

constexpr uint32_t kInt8TileRows = 8;
constexpr int kInt8Panels = 4;

inline Codes low_nibbles(Codes c) { return {_mm512_and_si512(c.x, _mm512_set1_epi8(0x0f))}; }
inline Codes high_nibbles(Codes c) {
  return {_mm512_and_si512(_mm512_srli_epi16(c.x, 4), _mm512_set1_epi8(0x0f))};
}
inline Codes bits_of(Codes c, int left, char mask) {
  const __m512i x = left >= 0 ? _mm512_slli_epi16(c.x, static_cast<unsigned>(left))
                              : _mm512_srli_epi16(c.x, static_cast<unsigned>(-left));
  return {_mm512_and_si512(x, _mm512_set1_epi8(mask))};
}
inline Codes with_bits(Codes low, Codes c, int left, char mask) {
  return {_mm512_or_si512(low.x, bits_of(c, left, mask).x)};
}
struct Table {
  __m512i x;
};
inline Table load_table(const int8_t* values) { return {broadcast_table(values)}; }
inline Codes look_up(Table table, Codes c) { return {_mm512_shuffle_epi8(table.x, c.x)}; }

inline Vec16 load_u8(const std::byte* p) { return {floats_of(sixteen_bytes(p))}; }
inline Vec16 load_low_four(const std::byte* p) { return {floats_of(low_fours(p))}; }
inline Vec16 load_high_four(const std::byte* p) { return {floats_of(high_fours(p))}; }
inline Vec16 load_e8m0(const std::byte* p) { return {floats_of_e8m0(sixteen_bytes(p))}; }
inline Vec16 load_e4m3(const std::byte* p) { return {floats_of_e4m3(sixteen_bytes(p))}; }

inline __m512i load_four(const std::byte* p) {
  int32_t four;
  std::memcpy(&four, p, sizeof four);
  return _mm512_set1_epi32(four);
}
inline __m512i pairs_to_32(__m512i x) { return _mm512_madd_epi16(x, _mm512_set1_epi16(1)); }

// Adds to `sum` at exactly this place in the code. GCC would turn a chain of integer additions into
// a tree, whose leaves take all registers.
inline void accumulate16(__m512i& sum, __m512i x) {
  sum = _mm512_add_epi16(sum, x);
  asm("" : "+v"(sum));
}
inline void accumulate32(__m512i& sum, __m512i x) {
  sum = _mm512_add_epi32(sum, x);
  asm("" : "+v"(sum));
}
inline Vec16 to_float(__m512i x, int32_t offset) {
  return {_mm512_cvtepi32_ps(_mm512_add_epi32(x, _mm512_set1_epi32(offset)))};
}

inline __m512i even_words(__m512i x) { return _mm512_srai_epi16(_mm512_slli_epi16(x, 8), 8); }
inline __m512i odd_words(__m512i x) { return _mm512_srai_epi16(x, 8); }

struct WideCodes {
  Codes even, odd;
};
inline WideCodes widen_codes(Codes c) {
  const __m512i x = _mm512_xor_si512(c.x, _mm512_set1_epi8(-128));
  return {{even_words(x)}, {odd_words(x)}};
}
inline void widen_block(const int8_t* x, std::byte* to) {
  const __m256i c = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
  auto* halves = reinterpret_cast<__m256i*>(to);
  _mm256_storeu_si256(halves, _mm256_srai_epi16(_mm256_slli_epi16(c, 8), 8));
  _mm256_storeu_si256(halves + 1, _mm256_srai_epi16(c, 8));
}

struct OneRow {
  static constexpr int kRows = 1;
  static constexpr bool kTakesOffset = false;
  static constexpr size_t kBlockBytes = kBlock;
  using Group = Codes;
};

struct WideFours {
  __m512i even, odd;
};

template <int Bits>
struct Dots;

template <>
struct Dots<4> : OneRow {
  static constexpr int kAtOnce = 1;
  __m512i s = _mm512_setzero_si512();  // sums of 16 bits

  static Codes prepare(const Codes (&c)[1]) { return c[0]; }
  static __m512i load(const std::byte* const (&x)[1], const int (&g)[1]) {
    return load_four(x[0] + 4 * g[0]);
  }
  void add(Codes w, __m512i x) { accumulate16(s, _mm512_maddubs_epi16(w.x, x)); }
  Vec16 sum(int, int32_t offset) const { return to_float(pairs_to_32(s), offset); }
};

template <>
struct Dots<6> : OneRow {
  static constexpr int kAtOnce = 2;
  struct Two {
    __m512i x[2];
  };
  __m512i s = _mm512_setzero_si512();

  static Two prepare(const Codes (&c)[2]) { return {{c[0].x, c[1].x}}; }
  static Two load(const std::byte* const (&x)[1], const int (&g)[2]) {
    return {{load_four(x[0] + 4 * g[0]), load_four(x[0] + 4 * g[1])}};
  }
  void add(const Two& w, const Two& x) {
    accumulate32(s, pairs_to_32(_mm512_add_epi16(_mm512_maddubs_epi16(w.x[0], x.x[0]),
                                                 _mm512_maddubs_epi16(w.x[1], x.x[1]))));
  }
  Vec16 sum(int, int32_t offset) const { return to_float(s, offset); }
};

struct WordDots : OneRow {
  static constexpr int kAtOnce = 1;
  __m512i s = _mm512_setzero_si512();

  void add(const WideCodes& w, const WideFours& x) {
    accumulate32(s, _mm512_madd_epi16(w.even.x, x.even));
    accumulate32(s, _mm512_madd_epi16(w.odd.x, x.odd));
  }
  Vec16 sum(int, int32_t offset) const { return to_float(s, offset); }
};

template <>
struct Dots<8> : WordDots {
  static constexpr bool kTakesOffset = true;

  static WideCodes prepare(const Codes (&c)[1]) { return widen_codes(c[0]); }
  static WideFours load(const std::byte* const (&x)[1], const int (&g)[1]) {
    const __m512i four = load_four(x[0] + 4 * g[0]);
    return {even_words(four), odd_words(four)};
  }
};

template <>
struct Dots<16> : WordDots {
  static constexpr size_t kBlockBytes = 64;
  using Group = WideCodes;

  static WideCodes prepare(const WideCodes (&c)[1]) { return c[0]; }
  static WideFours load(const std::byte* const (&x)[1], const int (&g)[1]) {
    return {load_four(x[0] + 4 * g[0]), load_four(x[0] + 32 + 4 * g[0])};
  }
};

template <int Bits, int Rows>
using DotsFor = Dots<Bits>;

struct Fp8Shape {
  static constexpr int kWideRows = 1, kWidePanels = 4;
  static constexpr int kFewRows = 6, kPanels = 2;
  static constexpr int kTileRows = 8;
};

using Bf16Pair = Vec16Pair;

inline Bf16Pair widen_pairs(__m512i x) {
  const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000));
  return {{_mm512_castsi512_ps(_mm512_slli_epi32(x, 16))},
          {_mm512_castsi512_ps(_mm512_and_si512(x, upper))}};
}
inline Bf16Pair bf16_pairs(Codes c) { return widen_pairs(c.x); }
inline Bf16Pair all_bf16_pair(const bf16_t* p) {
  int32_t two;
  std::memcpy(&two, p, sizeof two);
  return widen_pairs(_mm512_set1_epi32(two));
}
inline Vec16 add_pairs(const Bf16Pair& w, const Bf16Pair& x, Vec16 acc) {
  return fma(w.odd, x.odd, fma(w.even, x.even, acc));
}

}  // namespace
}  // namespace hearth

#include "kernels/gemm/gemm_fp8_pairs-inl.h"
#include "kernels/gemm/gemm_int8_wide-inl.h"

// This header needs the sums above.
#include "kernels/gemm/gemm_fp8_widen-inl.h"

namespace hearth {

constinit const GemmMenu menu_fp8_avx512bw = kFp8Menu;
constinit const GemmMenu menu_fp8_rows_avx512bw = kFp8Menu;

void gemm_fp8_avx512bw(const GemmArgs& args) { gemm_fp8_widened<SharedFp8Scale>(args); }
void gemm_fp8_rows_avx512bw(const GemmArgs& args) { gemm_fp8_widened<OwnFp8Scales>(args); }
HEARTH_INT8_GEMM_KERNELS(HEARTH_DEFINE_WIDE_GEMM, avx512bw)

}  // namespace hearth
