// Packs FP8 E4M3 weights with 128 x 128 block scales (the format of DeepSeek-V3's checkpoints) as
// PackKind::kFP8 (tensor/pack_spec.h). In a file the codes are a tensor [N][K] of bytes, the scales
// another, f32 [ceil(N / 128)][ceil(K / 128)]; a weight is its block's scale times its code's
// value.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/pack_spec.h"

namespace hearth {

inline constexpr uint32_t kFp8ScaleBlock = 128;
// Scales of so many rows or columns.
constexpr uint64_t fp8_scale_blocks(uint64_t n) {
  return n / kFp8ScaleBlock + (n % kFp8ScaleBlock != 0);
}

// Packs one panel of the shard, from rows that may lie anywhere: they share the scale of every 128
// columns of the whole tensor, which are in `block_scales`, from K = 0 on. k need not be a multiple
// of 32, nor rows of 16. `codes` and `scales` are the shard's bases. Pure: may run on many threads
// for disjoint panels.
void pack_fp8_panel(const PackSpec& spec, const PanelRows& rows, const float* block_scales,
                    uint32_t panel, std::byte* codes, std::byte* scales);

}  // namespace hearth
