// Helpers for the GEMM files written over Vec16. An output tile is a panel of 16 lanes, one for
// each weight row, by R rows of activations, held in registers. These helpers cut M and K into
// tiles.
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

// The sums of a panel for R rows of activations, in registers, with a lane for each weight row. A
// Kind has
//   Step, Element                  the weights of a step of K, an element of activations
//   add(step, all(x), sum)         adds the products with one row's elements of that step
template <typename Kind, int R>
struct LaneSums {
  Vec16 sums[R];

  // Starts at the sums in `out`, or at zero. `out` is the panel's first row; rows lie `stride`
  // apart.
  static LaneSums start(const float* out, size_t stride, bool first) {
    LaneSums s;
    HEARTH_UNROLL
    for (size_t r = 0; r < R; ++r) s.sums[r] = start_sum(out + stride * r, first);
    return s;
  }
  // Adds the products of a step. `x` points to the first row's elements of that step; the elements
  // of the next row lie `stride` further on.
  void add(const typename Kind::Step& w, const typename Kind::Element* x, size_t stride) {
    HEARTH_UNROLL
    for (size_t r = 0; r < R; ++r) sums[r] = Kind::add(w, Kind::all(x + stride * r), sums[r]);
  }
  Vec16 row(size_t r) const { return sums[r]; }
};

// Adds a step of P panels to the sums of each. All panels take a row's elements while these are in
// a register, and then the next row follows. If all rows of a panel came first, compilers would
// keep the elements of all rows in registers and spill sums.
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
