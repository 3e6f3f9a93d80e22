// AVX2 kernels (gemm_float-inl.h, gemm_fp8-inl.h, gemm_int8-inl.h over two registers of 8 lanes).
//
// The integer dot product is vpmaddubsw: unsigned times signed bytes, pairs added to 16 bits with
// saturation, which must not happen:
//   4 bits: a pair is at most 2 * 15 * 127 = 3810, so all 8 groups of a block fit 16 bits (30480)
//   6 bits: 2 * 63 * 127 = 16002, so two groups do
//   8 bits: |w| times sign(a, w), 2 * 128 * 127 = 32512, so one group does
#include "kernels/simd/vec16_avx2-inl.h"

// The headers below need the registers above.
#include "kernels/gemm/gemm_fp8_tables-inl.h"
#include "kernels/gemm/gemm_kernels.h"
#include "kernels/gemm/gemm_vec16-inl.h"

namespace hearth {
namespace {

constexpr uint32_t kInt8TileRows = 4;

struct Codes {
  __m256i a, b;
};
using Four = __m256i;

inline Codes load_codes(const std::byte* p) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)),
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 32))};
}
inline void store_codes(std::byte* p, Codes c) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), c.a);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + 32), c.b);
}

inline __m256i low_four_bits(__m256i x) { return _mm256_and_si256(x, _mm256_set1_epi8(0x0f)); }
inline Codes low_nibbles(Codes c) { return {low_four_bits(c.a), low_four_bits(c.b)}; }
inline Codes high_nibbles(Codes c) {
  return {low_four_bits(_mm256_srli_epi16(c.a, 4)), low_four_bits(_mm256_srli_epi16(c.b, 4))};
}

// Returns nibbles | (bits shifted left by `left`, right if negative, & mask), with the mask in
// every byte.
inline __m256i add_bits(__m256i nibbles, __m256i bits, int left, char mask) {
  bits = left >= 0 ? _mm256_slli_epi16(bits, left) : _mm256_srli_epi16(bits, -left);
  return _mm256_or_si256(nibbles, _mm256_and_si256(bits, _mm256_set1_epi8(mask)));
}
inline Codes with_fifth_bit(Codes nibbles, Codes bits, int i) {
  return {add_bits(nibbles.a, bits.a, 4 - i, 0x10), add_bits(nibbles.b, bits.b, 4 - i, 0x10)};
}
inline Codes with_high_bits(Codes nibbles, Codes bits, int i) {
  const int left = 4 - 2 * i;
  return {add_bits(nibbles.a, bits.a, left, 0x30), add_bits(nibbles.b, bits.b, left, 0x30)};
}

inline __m256 eight_u8(const std::byte* p) {
  return _mm256_cvtepi32_ps(
      _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
}
inline Vec16 load_u8(const std::byte* p) { return {eight_u8(p), eight_u8(p + 8)}; }

inline Four load_four(const int8_t* p) {
  int32_t four;
  __builtin_memcpy(&four, p, sizeof four);
  return _mm256_set1_epi32(four);
}

inline __m256i pairs_to_32(__m256i x) { return _mm256_madd_epi16(x, _mm256_set1_epi16(1)); }

// Adds to `sum` at this very place in the code. GCC turns a chain of integer additions into a tree,
// whose leaves then take all registers and more (a third of the speed of a tile).
inline void accumulate16(__m256i& sum, __m256i x) {
  sum = _mm256_add_epi16(sum, x);
  asm("" : "+x"(sum));
}
inline void accumulate32(__m256i& sum, __m256i x) {
  sum = _mm256_add_epi32(sum, x);
  asm("" : "+x"(sum));
}

// Returns float(x + offset) for 16 integers x.
inline Vec16 to_float(__m256i a, __m256i b, int32_t offset) {
  const __m256i o = _mm256_set1_epi32(offset);
  return {_mm256_cvtepi32_ps(_mm256_add_epi32(a, o)), _mm256_cvtepi32_ps(_mm256_add_epi32(b, o))};
}

template <int Bits>
struct Dots;

template <>
struct Dots<4> {
  static constexpr int kAtOnce = 1;
  using Prepared = Codes;
  __m256i a = _mm256_setzero_si256(), b = _mm256_setzero_si256();  // 16 bits

  static Prepared prepare(Codes c) { return c; }
  void add(const Prepared (&w)[1], const Four (&x)[1]) {
    accumulate16(a, _mm256_maddubs_epi16(w[0].a, x[0]));
    accumulate16(b, _mm256_maddubs_epi16(w[0].b, x[0]));
  }
  Vec16 sum(int32_t offset) const { return to_float(pairs_to_32(a), pairs_to_32(b), offset); }
};

template <>
struct Dots<6> {
  static constexpr int kAtOnce = 2;
  using Prepared = Codes;
  __m256i a = _mm256_setzero_si256(), b = _mm256_setzero_si256();

  static Prepared prepare(Codes c) { return c; }
  void add(const Prepared (&w)[2], const Four (&x)[2]) {
    accumulate32(a, two_groups(w[0].a, x[0], w[1].a, x[1]));
    accumulate32(b, two_groups(w[0].b, x[0], w[1].b, x[1]));
  }
  static __m256i two_groups(__m256i w0, Four x0, __m256i w1, Four x1) {
    return pairs_to_32(
        _mm256_add_epi16(_mm256_maddubs_epi16(w0, x0), _mm256_maddubs_epi16(w1, x1)));
  }
  Vec16 sum(int32_t offset) const { return to_float(a, b, offset); }
};

template <>
struct Dots<8> {
  static constexpr int kAtOnce = 1;
  struct Prepared {
    Codes code, magnitude;
  };
  __m256i a = _mm256_setzero_si256(), b = _mm256_setzero_si256();

  static Prepared prepare(Codes c) {
    const __m256i offset = _mm256_set1_epi8(-128);
    Codes code = {_mm256_xor_si256(c.a, offset), _mm256_xor_si256(c.b, offset)};
    // |-128| is 128 as an unsigned byte.
    return {code, {_mm256_abs_epi8(code.a), _mm256_abs_epi8(code.b)}};
  }
  void add(const Prepared (&w)[1], const Four (&x)[1]) {
    accumulate32(a, group(w[0].magnitude.a, w[0].code.a, x[0]));
    accumulate32(b, group(w[0].magnitude.b, w[0].code.b, x[0]));
  }
  static __m256i group(__m256i magnitude, __m256i code, Four x) {
    return pairs_to_32(_mm256_maddubs_epi16(magnitude, _mm256_sign_epi8(x, code)));
  }
  Vec16 sum(int32_t offset) const { return to_float(a, b, offset); }
};

inline Vec16Pair widen_pairs(__m256i a, __m256i b) {
  const __m256i upper = _mm256_set1_epi32(static_cast<int>(0xffff0000));
  auto even = [](__m256i v) { return _mm256_castsi256_ps(_mm256_slli_epi32(v, 16)); };
  auto odd = [&](__m256i v) { return _mm256_castsi256_ps(_mm256_and_si256(v, upper)); };
  return {{even(a), even(b)}, {odd(a), odd(b)}};
}
inline Vec16Pair bf16_pairs(Codes c) { return widen_pairs(c.a, c.b); }
inline Vec16Pair all_bf16_pair(const bf16_t* p) {
  int32_t two;
  __builtin_memcpy(&two, p, sizeof two);
  return widen_pairs(_mm256_set1_epi32(two), _mm256_set1_epi32(two));
}

struct Fp8Shape {
  static constexpr int kWideRows = 1, kWidePanels = 2;
  static constexpr int kFewRows = 4, kPanels = 1;
  static constexpr int kTileRows = 4;
};

struct Fp8Pairs {
  Codes first, second;
};

inline __m256i both_lanes(const Fp8Table& table) {
  return _mm256_broadcastsi128_si256(
      _mm_load_si128(reinterpret_cast<const __m128i*>(table.data())));
}

struct Fp8Decoder {
  __m256i upper = both_lanes(kFp8Upper);
  __m256i upper_small = both_lanes(kFp8UpperSmall);
  __m256i lower_small = both_lanes(kFp8LowerSmall);

  struct Bytes {
    __m256i upper, lower;
  };
  Bytes bytes(__m256i c) const {
    // The top bit is set for ttt > 0, the low nibble stays.
    const __m256i small =
        _mm256_add_epi8(_mm256_and_si256(c, _mm256_set1_epi8(0x7f)), _mm256_set1_epi8(0x70));
    const __m256i top = low_four_bits(_mm256_srli_epi16(c, 4));
    const __m256i nibbles = _mm256_slli_epi16(low_four_bits(c), 4);
    return {
        _mm256_or_si256(_mm256_shuffle_epi8(upper, top), _mm256_shuffle_epi8(upper_small, small)),
        _mm256_xor_si256(nibbles, _mm256_shuffle_epi8(lower_small, small))};
  }
  Fp8Pairs decode(Codes c) const {
    const Bytes a = bytes(c.a), b = bytes(c.b);
    return {{_mm256_unpacklo_epi8(a.lower, a.upper), _mm256_unpacklo_epi8(b.lower, b.upper)},
            {_mm256_unpackhi_epi8(a.lower, a.upper), _mm256_unpackhi_epi8(b.lower, b.upper)}};
  }
};

}  // namespace
}  // namespace hearth

#include "kernels/gemm/gemm_float-inl.h"
#include "kernels/gemm/gemm_fp8-inl.h"
#include "kernels/gemm/gemm_int8-inl.h"

namespace hearth {

void gemm_f32_avx2(const GemmArgs& args) { gemm_float<FloatF32>(args); }
void gemm_f16_avx2(const GemmArgs& args) { gemm_float<FloatF16>(args); }
void gemm_bf16_avx2(const GemmArgs& args) { gemm_float<FloatBF16>(args); }
void gemm_fp8_avx2(const GemmArgs& args) { gemm_fp8(args); }
void gemm_q8_0_avx2(const GemmArgs& args) { gemm_int8<KindQ8_0>(args); }
void gemm_q4_0_avx2(const GemmArgs& args) { gemm_int8<KindQ4_0>(args); }
void gemm_q4_k_avx2(const GemmArgs& args) { gemm_int8<KindQ4_K>(args); }
void gemm_q5_k_avx2(const GemmArgs& args) { gemm_int8<KindQ5_K>(args); }
void gemm_q6_k_avx2(const GemmArgs& args) { gemm_int8<KindQ6_K>(args); }
void gemm_i8x32_avx2(const GemmArgs& args) { gemm_int8<KindI8x32>(args); }
void gemm_i8x16_avx2(const GemmArgs& args) { gemm_int8<KindI8x16>(args); }

}  // namespace hearth
