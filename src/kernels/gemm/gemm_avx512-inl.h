// Helpers that the AVX-512 GEMM files share; only they include this file. A tile is P panels x R
// rows of the output held in registers; `for_tiles` cuts M rows into tiles of even height.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_segments-inl.h"
#include "kernels/simd/unroll.h"

namespace hearth {
namespace {

inline __m512i load_codes(const std::byte* p) { return _mm512_loadu_si512(p); }
// Returns four bytes of activations in all lanes.
inline __m512i broadcast4(const void* p) {
  int32_t four;
  std::memcpy(&four, p, sizeof four);
  return _mm512_set1_epi32(four);
}
inline __m512 load_f32(const std::byte* p) {
  return _mm512_loadu_ps(reinterpret_cast<const float*>(p));
}
inline __m512 load_f16(const std::byte* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}

// The function is inlined by force: GCC assumes that a function which only prefetches has no
// effect, and drops calls of it.
template <Cache To = Cache::kL1>
[[gnu::always_inline]] inline void prefetch_bytes(const std::byte* p, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 64) {
    _mm_prefetch(reinterpret_cast<const char*>(p) + i,
                 To == Cache::kL1 ? _MM_HINT_T0 : _MM_HINT_T1);
  }
}

// Starts a tile at the sums that earlier slices of K left in `out`, or at zero.
template <int P, int R>
[[gnu::always_inline]] inline void load_tile(const float* out, size_t stride, bool first,
                                             __m512 (&acc)[P][R]) {
  HEARTH_UNROLL
  for (int p = 0; p < P; ++p) {
    HEARTH_UNROLL
    for (int r = 0; r < R; ++r) acc[p][r] = _mm512_setzero_ps();
  }
  if (first) return;
  HEARTH_UNROLL
  for (int p = 0; p < P; ++p) {
    HEARTH_UNROLL
    for (int r = 0; r < R; ++r) {
      acc[p][r] = _mm512_loadu_ps(out + static_cast<size_t>(r) * stride + 16 * p);
    }
  }
}

template <int P, int R>
[[gnu::always_inline]] inline void store_tile(float* out, size_t stride,
                                              const __m512 (&acc)[P][R]) {
  HEARTH_UNROLL
  for (int p = 0; p < P; ++p) {
    HEARTH_UNROLL
    for (int r = 0; r < R; ++r) {
      _mm512_storeu_ps(out + static_cast<size_t>(r) * stride + 16 * p, acc[p][r]);
    }
  }
}

// Adds a tile that was stored at `left` to the tile in registers.
template <int P, int R>
[[gnu::always_inline]] inline void add_tile(const float* left, size_t stride, __m512 (&acc)[P][R]) {
  HEARTH_UNROLL
  for (int p = 0; p < P; ++p) {
    HEARTH_UNROLL
    for (int r = 0; r < R; ++r) {
      const float* from = left + static_cast<size_t>(r) * stride + 16 * p;
      acc[p][r] = _mm512_add_ps(_mm512_loadu_ps(from), acc[p][r]);
    }
  }
}

inline uint32_t even_cut(uint32_t total, uint32_t index, uint32_t parts) {
  return static_cast<uint32_t>(uint64_t{total} * index / parts);
}

// Calls fn(first row, rows, tile, tiles) for tiles of at most `max_rows` rows. Tiles are as even as
// possible: two tiles of 4 rows are faster than one of 6 and one of 2.
template <typename Fn>
inline void for_tiles(uint32_t m, uint32_t max_rows, Fn&& fn) {
  if (0 < m && m <= max_rows) return fn(0, m, 0, 1);  // without a division
  uint32_t tiles = (m + max_rows - 1) / max_rows;
  for (uint32_t t = 0; t < tiles; ++t) {
    uint32_t begin = even_cut(m, t, tiles);
    fn(begin, even_cut(m, t + 1, tiles) - begin, t, tiles);
  }
}

// Calls fn(first block, end block) for slices of K of at most `max_blocks`, as even as possible.
template <typename Fn>
inline void for_slices(uint32_t block0, uint32_t block1, uint32_t max_blocks, Fn&& fn) {
  uint32_t blocks = block1 - block0;
  if (blocks <= max_blocks) return fn(block0, block1);
  uint32_t slices = (blocks + max_blocks - 1) / max_blocks;
  for (uint32_t s = 0; s < slices; ++s) {
    fn(block0 + even_cut(blocks, s, slices), block0 + even_cut(blocks, s + 1, slices));
  }
}

}  // namespace
}  // namespace hearth
