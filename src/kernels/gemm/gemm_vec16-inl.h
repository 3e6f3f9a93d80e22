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

inline void prefetch_range(const std::byte* p, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 64) prefetch(p + i);
}

// Starts a row of a tile at the sums that earlier slices of K left in `out`, or at zero.
inline Vec16 start_sum(const float* out, bool first) {
  return first ? Vec16::zero() : Vec16::load(out);
}

// The sums of a panel over R rows of activations, in registers: a lane a weight row. A Kind has
//   Step, Element                  the weights of a step of K, an element of activations
//   add(step, all(x), sum)         the products with one row's elements of that step
template <typename Kind, int R>
struct LaneSums {
  Vec16 sums[R];

  // `out` is that of the panel's first row, whose rows lie `stride` apart.
  static LaneSums start(const float* out, size_t stride, bool first) {
    LaneSums s;
    HEARTH_UNROLL
    for (size_t r = 0; r < R; ++r) s.sums[r] = start_sum(out + stride * r, first);
    return s;
  }
  // `x` is that of the step, whose rows lie `stride` apart.
  void add(const typename Kind::Step& w, const typename Kind::Element* x, size_t stride) {
    HEARTH_UNROLL
    for (size_t r = 0; r < R; ++r) sums[r] = Kind::add(w, Kind::all(x + stride * r), sums[r]);
  }
  Vec16 row(size_t r) const { return sums[r]; }
};

// Adds a step of P panels to the sums of each, row by row: all panels take a row's elements while
// they are in a register. Panel by panel, compilers keep those of all rows and spill sums for it.
template <typename Kind, int R, size_t P>
void add_panels(LaneSums<Kind, R> (&sums)[P], const typename Kind::Step (&w)[P],
                const typename Kind::Element* x, size_t stride) {
  HEARTH_UNROLL
  for (size_t r = 0; r < R; ++r) {
    const auto elements = Kind::all(x + stride * r);
    HEARTH_UNROLL
    for (size_t p = 0; p < P; ++p) sums[p].sums[r] = Kind::add(w[p], elements, sums[p].sums[r]);
  }
}

}  // namespace
}  // namespace hearth
