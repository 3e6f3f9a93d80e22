// Helpers that the GEMM files written over Vec16 share. An output tile is a panel of 16 lanes, one
// a weight row, by R rows of activations, held in registers; these helpers cut M and K into tiles.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_segments-inl.h"
#include "kernels/simd/unroll.h"

namespace hearth {
namespace {

// The codes are prefetched this far ahead of the loads.
constexpr size_t kPrefetchBytes = 4096;

inline void prefetch_range(const std::byte* p, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 64) prefetch(p + i);
}

// Starts a row of a tile at the sums that earlier slices of K left in `out`, or at zero.
inline Vec16 start_sum(const float* out, bool first) {
  return first ? Vec16::zero() : Vec16::load(out);
}

}  // namespace
}  // namespace hearth
