#include <algorithm>

#include "base/check.h"
#include "tensor/code_block.h"
#include "tensor/pack_spec.h"

namespace hearth {

void unpack_row(const PackSpec& spec, const std::byte* codes, const std::byte* scales, uint32_t row,
                float* out) {
  HEARTH_CHECK(row < spec.panels() * kPanelRows, "the row is the shard's");
  const PackKindInfo& kind = pack_kind_info(spec.kind);
  const size_t panel = row / kPanelRows;
  const PackedLane lane{codes + spec.codes_panel_bytes() * panel,
                        scales + spec.scales_panel_bytes() * panel,
                        row % kPanelRows,
                        spec.super_offset(),
                        spec.supers(),
                        &spec.form};
  for (uint32_t b = 0; b < spec.blocks(); ++b) {
    float values[kBlock];
    if (kind.unpack_values != nullptr) {
      kind.unpack_values(lane, b, values);
    } else {
      CodeBlock block;
      kind.unpack_codes(lane, b, block);
      code_block_values(block, values);
    }
    std::copy_n(values, std::min(kBlock, spec.k - kBlock * b), out + size_t{kBlock} * b);
  }
}

}  // namespace hearth
