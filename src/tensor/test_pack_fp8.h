// Packs FP8 weights of tests, which lie in one piece, panel by panel (tensor/pack_fp8.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensor/pack_fp8.h"

namespace hearth {

struct Fp8Source {
  const std::byte* codes;  // row 0 of the shard at K = 0 of the whole tensor
  size_t row_stride;       // bytes from row to row
  const float* scales;     // of the whole tensor
  size_t scale_stride;     // floats from one row of scales to the next
  uint32_t row_origin;     // the shard's first row in the tensor; for kFP8 a multiple of 16
};

// Packs panels [panel0, panel0 + panels) of the shard.
inline void pack_fp8_panels(const PackSpec& spec, const Fp8Source& source, uint32_t panel0,
                            uint32_t panels, std::byte* codes, std::byte* scales) {
  for (uint32_t panel = panel0; panel < panel0 + panels; ++panel) {
    PanelRows rows = {};
    std::vector<float> of_rows(kPanelRows * source.scale_stride);
    const uint32_t row0 = panel * kPanelRows;
    for (uint32_t r = 0; r < std::min(kPanelRows, spec.rows - row0); ++r) {
      rows[r] = source.codes + source.row_stride * (row0 + r);
      const size_t scale_row = (source.row_origin + row0 + r) / kFp8ScaleBlock;
      std::copy_n(source.scales + source.scale_stride * scale_row, source.scale_stride,
                  of_rows.begin() + static_cast<ptrdiff_t>(source.scale_stride * r));
    }
    pack_fp8_panel(spec, rows, {of_rows.data(), source.scale_stride}, panel, codes, scales);
  }
}

}  // namespace hearth
