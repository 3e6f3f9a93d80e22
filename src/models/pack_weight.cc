#include "models/pack_weight.h"

#include <algorithm>

#include "formats/source_rows.h"
#include "tensor/pack_fp8.h"

namespace hearth {
namespace {

// Scales of a panel of FP8: those of its first row, or of all.
struct PanelScales {
  uint32_t rows = 0;
  size_t columns = 0;

  explicit PanelScales(const WeightSpec& weight) {
    if (!is_fp8(weight.packed.kind)) return;
    rows = weight.packed.kind == PackKind::kFP8 ? 1 : kPanelRows;
    columns = fp8_scale_blocks(weight.k);
  }
  size_t count() const { return rows * columns; }
};

// Multiplies rows that were read as F32, in scratch memory, by the weight's scale.
void scale_rows(const WeightSpec& weight, uint32_t count, std::byte* scratch) {
  if (weight.scale == 1 || weight.packed.dtype != DType::kF32) return;
  auto* values = reinterpret_cast<float*>(scratch);
  for (size_t i = 0; i < size_t{count} * weight.k; ++i) values[i] *= weight.scale;
}

// Of codes that stay as they are.
bool pack_code_panels(const WeightSpec& weight, const Shard& shard, uint32_t panel0,
                      uint32_t panels) {
  const PackSpec& spec = shard.spec;
  bool good = true;
  for (uint32_t panel = panel0; panel < panel0 + panels; ++panel) {
    const uint32_t row = panel * kPanelRows, count = std::min(kPanelRows, spec.rows - row);
    const uint64_t first = uint64_t{weight.first} + shard.row0 + row;
    const CodesReader reader = panel_codes(*weight.data, weight.packed, first, count);
    good = reader.has_scales(spec.k_origin, uint64_t{spec.k_origin} + spec.k) && good;
    pack_panel(spec, reader, count, panel, shard.codes, shard.scales);
  }
  return good;
}

}  // namespace

size_t pack_scratch_bytes(const WeightSpec& weight) {
  if (weight.packed.code_bits != 0) return 0;
  return PanelScales(weight).count() * sizeof(float) +
         scratch_bytes(*weight.data, weight.packed.dtype);
}

bool pack_weight_panels(const WeightSpec& weight, const Shard& shard, uint32_t panel0,
                        uint32_t panels, std::byte* scratch) {
  const PackSpec& spec = shard.spec;
  const SourceTensor& tensor = *weight.data;
  const uint64_t first = uint64_t{weight.first} + shard.row0;
  const DType dtype = weight.packed.dtype;
  if (tensor.runs.empty() && dtype == weight.dtype) {
    const size_t stride = row_bytes(dtype, weight.k);
    pack_panels(spec, dtype, tensor.data.data() + first * stride, stride, panel0, panels,
                shard.codes, shard.scales, weight.scale);
    return true;
  }
  if (weight.packed.code_bits != 0) return pack_code_panels(weight, shard, panel0, panels);
  const PanelScales panel_has(weight);
  auto* scales = reinterpret_cast<float*>(scratch);
  scratch += panel_has.count() * sizeof(float);
  bool good = true;
  for (uint32_t panel = panel0; panel < panel0 + panels; ++panel) {
    const uint32_t row = panel * kPanelRows, count = std::min(kPanelRows, spec.rows - row);
    PanelRows rows;
    good = panel_rows(tensor, dtype, first + row, count, scratch, &rows) && good;
    scale_rows(weight, count, scratch);
    if (panel_has.rows > 0) {
      const uint32_t scaled = std::min(count, panel_has.rows);
      good = panel_scales(tensor, first + row, scaled, scales) && good;
      pack_fp8_panel(spec, rows, {scales, panel_has.columns}, panel, shard.codes, shard.scales);
    } else {
      pack_panel(spec, dtype, rows, panel, shard.codes, shard.scales, weight.scale);
    }
  }
  return good;
}

}  // namespace hearth
