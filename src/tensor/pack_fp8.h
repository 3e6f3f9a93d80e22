// Packs FP8 E4M3 weights (tensor/pack_spec.h) as PackKind::kFP8, where the rows of a panel share
// the scale of every 128 columns, or as kFP8R, where each row has its own. In a file the codes are
// a tensor [N][K] of bytes. The scales are another tensor: one for the whole matrix, one for each
// row, or one for each 128 x 128 elements (the format of DeepSeek-V3's checkpoints). A weight is
// scale * E4M3(code).
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/pack_spec.h"

namespace hearth {

inline constexpr uint32_t kFp8ScaleBlock = 128;
// Returns how many blocks of 128 cover n rows or columns.
constexpr uint64_t fp8_scale_blocks(uint64_t n) {
  return n / kFp8ScaleBlock + (n % kFp8ScaleBlock != 0);
}

// The scales of a panel's rows, one for every 128 columns of the whole tensor, from K = 0 on.
struct Fp8Scales {
  const float* first;     // of row 0
  size_t row_stride = 0;  // floats from row to row; 0: all rows share them
};

// Packs one panel of the shard, from rows that may lie anywhere. kFP8 takes the scales of row 0 for
// all rows. k need not be a multiple of 32, nor the number of rows one of 16. `codes` and `scales`
// are the shard's bases. The function is pure, so many threads may pack disjoint panels.
void pack_fp8_panel(const PackSpec& spec, const PanelRows& rows, const Fp8Scales& row_scales,
                    uint32_t panel, std::byte* codes, std::byte* scales);

}  // namespace hearth
