#include "models/pack_weight.h"

#include <algorithm>

#include "formats/source_rows.h"
#include "tensor/pack_fp8.h"

namespace hearth {

size_t pack_scratch_bytes(const WeightSpec& weight) {
  if (weight.packed != DType::kF8E4M3) return scratch_bytes(*weight.data, weight.packed);
  const size_t scales = fp8_scale_blocks(weight.k) * sizeof(float);
  return scales + scratch_bytes(*weight.data, weight.packed);
}

bool pack_weight_panels(const WeightSpec& weight, const Shard& shard, uint32_t panel0,
                        uint32_t panels, std::byte* scratch) {
  const PackSpec& spec = shard.spec;
  const SourceTensor& tensor = *weight.data;
  const uint64_t first = uint64_t{weight.first} + shard.row0;
  if (tensor.runs.empty() && weight.packed == weight.dtype) {
    const size_t stride = row_bytes(weight.packed, weight.k);
    pack_panels(spec, weight.packed, tensor.data.data() + first * stride, stride, panel0, panels,
                shard.codes, shard.scales);
    return true;
  }
  const bool fp8 = weight.packed == DType::kF8E4M3;
  auto* scales = reinterpret_cast<float*>(scratch);
  if (fp8) scratch += fp8_scale_blocks(weight.k) * sizeof(float);
  bool good = true;
  for (uint32_t panel = panel0; panel < panel0 + panels; ++panel) {
    const uint32_t row = panel * kPanelRows;
    PanelRows rows;
    good = panel_rows(tensor, weight.packed, first + row, std::min(kPanelRows, spec.rows - row),
                      scratch, &rows) &&
           good;
    if (fp8) {
      good = panel_scales(tensor, first + row, scales) && good;
      pack_fp8_panel(spec, rows, scales, panel, shard.codes, shard.scales);
    } else {
      pack_panel(spec, weight.packed, rows, panel, shard.codes, shard.scales);
    }
  }
  return good;
}

}  // namespace hearth
