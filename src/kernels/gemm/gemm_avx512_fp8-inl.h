// E4M3 to bf16 over AVX-512, for the GEMM files of its levels: four byte shuffles for 64 codes.
// Rates of the decoders tried, on a core of the Sapphire Rapids class, in GB/s of codes from L2:
// these shuffles 15.8, shifts with a masked vpermw for the subnormals 14.2, all magnitudes by
// vpermi2w 12.8; vpermi2b, which needs VBMI, 17.4. Decoding NaN in the loop would reduce 15.8 to
// 14.2.
#pragma once

#include "kernels/simd/vec16_avx512-inl.h"

// The headers below need the registers above.
#include "kernels/gemm/gemm_fp8_tables-inl.h"
#include "kernels/gemm/gemm_kernels.h"

namespace hearth {
namespace {

struct Codes {
  __m512i x;
};
struct Fp8Pairs {
  Codes first, second;
};

inline Codes load_codes(const std::byte* p) { return {_mm512_loadu_si512(p)}; }
inline void store_codes(std::byte* p, Codes c) { _mm512_storeu_si512(p, c.x); }

inline __m512i all_lanes(const Fp8Table& table) {
  return _mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(table.data())));
}

struct Fp8Decoder {
  __m512i upper = all_lanes(kFp8Upper);
  __m512i upper_small = all_lanes(kFp8UpperSmall);
  __m512i lower_small = all_lanes(kFp8LowerSmall);

  Fp8Pairs decode(Codes c) const {
    const __m512i nibble = _mm512_set1_epi8(0x0f), high = _mm512_set1_epi8(static_cast<char>(0xf0));
    // The top bit is set for ttt > 0, the low nibble stays.
    const __m512i small =
        _mm512_add_epi8(_mm512_and_si512(c.x, _mm512_set1_epi8(0x7f)), _mm512_set1_epi8(0x70));
    const __m512i top = _mm512_and_si512(_mm512_srli_epi16(c.x, 4), nibble);
    const __m512i u =
        _mm512_or_si512(_mm512_shuffle_epi8(upper, top), _mm512_shuffle_epi8(upper_small, small));
    constexpr int kAndXor = 0x6a;  // (a & b) ^ c
    const __m512i l = _mm512_ternarylogic_epi32(_mm512_slli_epi16(c.x, 4), high,
                                                _mm512_shuffle_epi8(lower_small, small), kAndXor);
    return {{_mm512_unpacklo_epi8(l, u)}, {_mm512_unpackhi_epi8(l, u)}};
  }
};

}  // namespace
}  // namespace hearth
