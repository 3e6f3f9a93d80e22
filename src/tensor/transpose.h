// Transposes small tiles in registers, of 128 bits or as wide as the including file is compiled
// for. The code uses the compilers' vector extension, so one source serves SSE2 and NEON, which
// every processor of their family has, and wider registers. All functions are inlined, since the
// linker would keep only one of several functions with the same name, compiled for different
// levels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace hearth {

using U32x4 [[gnu::vector_size(16)]] = uint32_t;
using U16x8 [[gnu::vector_size(16)]] = uint16_t;

[[gnu::always_inline]] inline U32x4 splat(uint32_t x) { return U32x4{x, x, x, x}; }

// Returns a vector whose element i is element i / 2 + From of a for even i, and of b for odd i.
template <size_t From, typename V, size_t... I>
[[gnu::always_inline]] inline V interleave(V a, V b, std::index_sequence<I...>) {
  return __builtin_shufflevector(a, b, (From + I / 2 + I % 2 * sizeof...(I))...);
}

// Transposes N registers of N elements by log2 N perfect shuffles of all elements.
template <typename V, size_t N>
[[gnu::always_inline]] inline void transpose(V (&v)[N]) {
  static_assert(N == sizeof(V) / sizeof(v[0][0]), "a square");
  constexpr std::make_index_sequence<N> kAll;
  for (size_t step = 1; step < N; step *= 2) {
    V next[N];
    for (size_t i = 0; i < N / 2; ++i) {
      next[2 * i] = interleave<0>(v[i], v[i + N / 2], kAll);
      next[2 * i + 1] = interleave<N / 2>(v[i], v[i + N / 2], kAll);
    }
    for (size_t i = 0; i < N; ++i) v[i] = next[i];
  }
}

template <typename V>
[[gnu::always_inline]] inline V load_vector(const std::byte* p) {
  V v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <typename V>
[[gnu::always_inline]] inline void store_vector(std::byte* p, V v) {
  std::memcpy(p, &v, sizeof v);
}

// Sets out[c][r] to word c of row r, for 16 rows of Words words; load(r, c) gives words [c, c + 4)
// of row r.
template <size_t Words, typename Load>
[[gnu::always_inline]] inline void transpose_words(std::byte* out, Load&& load) {
  for (size_t c = 0; c < Words; c += 4) {
    for (size_t r = 0; r < 16; r += 4) {
      U32x4 v[4] = {load(r, c), load(r + 1, c), load(r + 2, c), load(r + 3, c)};
      transpose(v);
      for (size_t i = 0; i < 4; ++i) store_vector(out + 64 * (c + i) + 4 * r, v[i]);
    }
  }
}

}  // namespace hearth
