// The tiles of gemm_float-inl.h over widened slices (gemm_widen-inl.h).
#pragma once

#include "kernels/gemm/gemm_float-inl.h"
#include "kernels/gemm/gemm_widen-inl.h"

namespace hearth {
namespace {

// Returns the tile of F32 that computes rows from `row` on. It adds its sums of the slice to `out`,
// or overwrites `out` if `first`.
inline FloatTile<FloatF32> widened_tile(const WidenedWork& w, uint32_t row, bool first, float* out,
                                        size_t out_stride) {
  return {.codes = w.codes,
          .codes_stride = kWidenedPanelBytes,
          .x = w.x + kWidenedStride * row,
          .x_stride = kWidenedStride,
          .blocks = w.blocks,
          .first = first,
          .ahead = 0,
          .out = out,
          .out_stride = out_stride};
}

}  // namespace
}  // namespace hearth
