// Vectors of kLanes lanes of 32 bits, as wide as the registers of a level of instructions. A lane
// holds a float, a whole number, or a pair of whole numbers of 16 bits. The level's own header
// (tensor/lanes_avx2-inl.h and the like) includes this one, and defines the names below. A lane's
// results are the same on every level.
//
//   kLanes
//   mul_round(LanePairs a, LanePairs b)     a b / 2^15, rounded, of numbers with |a b| < 2^29
//   min_of(LanePairs a, LanePairs b), max_of(LanePairs a, LanePairs b)
//   less_or_zero(LanePairs a, LanePairs b)  a - b, or 0 if that is negative, of numbers >= 0
//   add_products(LaneInts sum, LanePairs a, LanePairs b)
//                                           sum + a b of both numbers of a pair
//
// All names are in an anonymous namespace, and no function of the standard library is called: the
// linker must never choose a function compiled here for newer processors as the common copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tensor/transpose.h"

namespace hearth {
namespace {

using LaneFloats [[gnu::vector_size(4 * kLanes)]] = float;
using LaneInts [[gnu::vector_size(4 * kLanes)]] = int32_t;
using LaneBits [[gnu::vector_size(4 * kLanes)]] = uint32_t;
using LanePairs [[gnu::vector_size(4 * kLanes)]] = int16_t;

inline LaneFloats floats(float x) { return x - LaneFloats{}; }
inline LaneFloats floats(LaneInts x) { return __builtin_convertvector(x, LaneFloats); }
inline LanePairs pairs(int x) { return static_cast<int16_t>(x) - LanePairs{}; }

// The number that, added to a float, rounds it to a whole number in its low 22 bits.
constexpr float kRounding = 0x1.8p23f;

// Returns pairs of the whole numbers nearest to `first` and `second`, which are below 2^15 in size.
inline LanePairs whole_pairs(LaneFloats first, LaneFloats second) {
  const LaneBits low = (LaneBits)(first + kRounding), high = (LaneBits)(second + kRounding);
  return (LanePairs)((low & 0xffff) | (high << 16));
}
inline LaneInts first_of(LanePairs x) { return (LaneInts)((LaneBits)x << 16) >> 16; }
inline LaneInts second_of(LanePairs x) { return (LaneInts)x >> 16; }

// Reads kLanes consecutive blocks of N elements: element i of block b becomes lane b of out[i].
template <size_t N>
inline void load_blocks(const float* x, LaneFloats (&out)[N]) {
  for (size_t i = 0; i < N; i += kLanes) {
    LaneFloats tile[kLanes];
    for (size_t b = 0; b < kLanes; ++b) std::memcpy(&tile[b], x + b * N + i, sizeof tile[b]);
    transpose(tile);
    for (size_t j = 0; j < kLanes; ++j) out[i + j] = tile[j];
  }
}

// Limits on the largest absolute value of a block. Below kMinMagnitude the block counts as zeros;
// from the bits of infinity on it has an element that is not finite.
constexpr float kMinMagnitude = 1e-30f;
constexpr int32_t kInfiniteBits = 0x7f800000;

// Returns the bits of the largest absolute value of each block: without a sign, floats are in the
// order of their bits.
template <size_t N>
inline LaneInts largest_bits(const LaneFloats (&x)[N]) {
  LaneInts largest{};
  for (const LaneFloats& element : x) {
    const LaneInts bits = (LaneInts)element & 0x7fffffff;
    largest = bits > largest ? bits : largest;
  }
  return largest;
}

// Reads the weights of kLanes blocks, in proportion to a block's largest; 1 if all are 0.
template <size_t N>
inline void load_weights(const float* weights, LaneFloats (&out)[N]) {
  load_blocks(weights, out);
  LaneFloats most = out[0];
  for (const LaneFloats& weight : out) most = weight > most ? weight : most;
  for (LaneFloats& weight : out) weight = most > 0 ? weight / most : floats(1);
}

}  // namespace
}  // namespace hearth
