// The AMX instructions that kernels use, by tile number. They are written in assembly, since GCC 12
// drops stores to the configuration before its own _tile_loadconfig as dead, and sees no dependence
// between tiles and memory. Only AMX files include this.
//
// A thread's tiles exist between configure() and release(). The process must have requested them
// (topology/cpu_features.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth::amx {
namespace {

// Holds the rows of each tile and the bytes of its rows: the 64 bytes that ldtilecfg reads.
struct alignas(64) Shape {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};

  constexpr void set(uint32_t tile, uint32_t tile_rows, uint32_t bytes) {
    rows[tile] = static_cast<uint8_t>(tile_rows);
    row_bytes[tile] = static_cast<uint16_t>(bytes);
  }
};
static_assert(sizeof(Shape) == 64);

// Gives the tiles their shapes, and clears them.
inline void configure(const Shape& shape) { asm volatile("ldtilecfg %0" ::"m"(shape) : "memory"); }

inline void release() { asm volatile("tilerelease" ::: "memory"); }

template <int Tile>
[[gnu::always_inline]] inline void zero() {
  asm volatile("tilezero %%tmm%c0" ::"i"(Tile));
}

// load() and store() move a tile whose rows lie `stride` bytes apart in memory.
template <int Tile>
[[gnu::always_inline]] inline void load(const void* p, size_t stride) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(p), "r"(stride), "i"(Tile) : "memory");
}

template <int Tile>
[[gnu::always_inline]] inline void store(void* p, size_t stride) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(p), "r"(stride), "i"(Tile) : "memory");
}

// Adds A[m][4 k + j] B[k][4 n + j] over k and j to Sum[m][n], exactly: int8 codes, int32 sums.
template <int Sum, int A, int B>
[[gnu::always_inline]] inline void dot_signed() {
  asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(Sum), "i"(A), "i"(B));
}

// Adds products of pairs of BF16 to Sum[m][n] in f32. One chain of fused multiply-adds from zero
// sums A[m][2 k] B[k][2 n] over k, and another sums A[m][2 k + 1] B[k][2 n + 1]. Then the sum of
// both chains is added to Sum. Subnormals count as zero.
template <int Sum, int A, int B>
[[gnu::always_inline]] inline void dot_bf16() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(Sum), "i"(A), "i"(B));
}

}  // namespace
}  // namespace hearth::amx
