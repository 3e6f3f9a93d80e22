#include "models/pack_weight.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/error.h"
#include "base/round_up.h"
#include "formats/source_rows.h"
#include "tensor/pack_fp8.h"

namespace hearth {
namespace {

// The sizes of the scales that a panel of FP8 is packed with: a row of them for the whole panel
// (kFP8), or one for each of its 16 rows (kFP8R).
struct PanelScales {
  uint32_t rows = 0;
  size_t columns = 0;

  explicit PanelScales(const WeightSpec& weight) {
    if (!is_fp8(weight.packed.kind)) return;
    rows = weight.packed.kind == PackKind::kFP8 ? 1 : kPanelRows;
    columns = fp8_scale_blocks(weight.k);
  }
  size_t count() const { return rows * columns; }
  // Returns how many scales have to be reordered with their columns; 0: none.
  size_t ordered_count(const WeightSpec& weight) const {
    return weight.dtype == DType::kF8E4M3 && weight.column_runs.length != 0 ? count() : 0;
  }
};

// Multiplies rows that were read as F32, in scratch memory, by the weight's scale.
void scale_rows(const WeightSpec& weight, uint32_t count, std::byte* scratch) {
  if (weight.scale == 1 || weight.packed.dtype != DType::kF32) return;
  auto* values = reinterpret_cast<float*>(scratch);
  for (size_t i = 0; i < size_t{count} * weight.k; ++i) values[i] *= weight.scale;
}

// Returns a reader of rows [row, row + count) of the weight.
CodesReader weight_codes(const WeightSpec& weight, uint32_t row, uint32_t count) {
  if (weight.row_order == nullptr) {
    return panel_codes(*weight.data, weight.packed, uint64_t{weight.first} + row, count);
  }
  return panel_codes(*weight.data, weight.packed, weight.first, count,
                     weight.row_order->data() + row);
}

// Returns the aligned bytes of a panel's rows, which are needed if columns get another order; else
// 0.
size_t panel_bytes(const WeightSpec& weight) {
  if (weight.column_runs.length == 0) return 0;
  return round_up(kPanelRows * row_bytes(weight.packed.dtype, weight.k), 64);
}

// Copies a row, in runs of `run_bytes` each, to the pack's order.
void copy_runs(const ColumnRuns& runs, size_t run_bytes, const std::byte* from, std::byte* to) {
  for (size_t g = 0; g < runs.groups; ++g) {
    for (size_t i = 0; i < runs.count; ++i, to += run_bytes) {
      std::memcpy(to, from + (i * runs.groups + g) * run_bytes, run_bytes);
    }
  }
}

// Copies the rows to `scratch` with their columns in the pack's order, and lets `rows` point there.
void order_columns(const WeightSpec& weight, std::byte* scratch, PanelRows* rows) {
  const ColumnRuns& runs = weight.column_runs;
  const DType dtype = weight.packed.dtype;
  const size_t run_bytes = row_bytes(dtype, runs.length), stride = row_bytes(dtype, weight.k);
  for (size_t r = 0; r < kPanelRows; ++r) {
    const std::byte* from = (*rows)[r];
    if (from == nullptr) continue;
    std::byte* to = scratch + r * stride;
    (*rows)[r] = to;
    copy_runs(runs, run_bytes, from, to);
  }
}

// Copies scales in the pack's order, `columns` in a row. Each is of 128 columns, and runs are whole
// blocks of 128 (SpecBuilder guarantees it).
void order_scales(const ColumnRuns& runs, size_t columns, size_t rows, const float* from,
                  float* to) {
  HEARTH_CHECK(runs.length % kFp8ScaleBlock == 0, "scales move with their columns");
  const size_t run_bytes = runs.length / kFp8ScaleBlock * sizeof(float);
  for (size_t r = 0; r < rows; ++r) {
    copy_runs(runs, run_bytes, reinterpret_cast<const std::byte*>(from + r * columns),
              reinterpret_cast<std::byte*>(to + r * columns));
  }
}

// Packs a panel as FP8, from a tensor of FP8 or of a type that is quantised to it.
bool pack_fp8_rows(const WeightSpec& weight, const Shard& shard, uint64_t first, uint32_t count,
                   uint32_t panel, std::byte* scratch) {
  const PanelScales has(weight);
  const bool in_order = weight.column_runs.length == 0;
  std::byte* ordered = scratch;
  scratch += panel_bytes(weight);
  auto* scales = reinterpret_cast<float*>(scratch);
  scratch += has.count() * sizeof(float);
  auto* ordered_scales = reinterpret_cast<float*>(scratch);
  scratch += has.ordered_count(weight) * sizeof(float);
  const SourceTensor& tensor = *weight.data;
  PanelRows rows;
  bool good;
  if (weight.dtype == DType::kF8E4M3) {
    good = panel_rows(tensor, DType::kF8E4M3, first, count, scratch, &rows) &&
           panel_scales(tensor, first, std::min(count, has.rows), scales);
  } else {
    good = panel_as_fp8(tensor, first, count, scratch, &rows, scales, weight.importance);
  }
  if (!in_order) order_columns(weight, ordered, &rows);
  if (has.ordered_count(weight) > 0) {
    order_scales(weight.column_runs, has.columns, std::min(count, has.rows), scales,
                 ordered_scales);
    scales = ordered_scales;
  }
  pack_fp8_panel(shard.spec, rows, {scales, has.columns}, panel, shard.codes, shard.scales);
  return good;
}

// Packs codes unchanged.
bool pack_code_panels(const WeightSpec& weight, const Shard& shard, uint32_t panel0,
                      uint32_t panels) {
  const PackSpec& spec = shard.spec;
  bool good = true;
  for (uint32_t panel = panel0; panel < panel0 + panels; ++panel) {
    const uint32_t row = panel * kPanelRows, count = std::min(kPanelRows, spec.rows - row);
    const CodesReader reader = weight_codes(weight, shard.row0 + row, count);
    good = reader.has_scales(spec.k_origin, uint64_t{spec.k_origin} + spec.k) && good;
    pack_panel(spec, reader, count, panel, shard.codes, shard.scales);
  }
  return good;
}

// Returns whether no block's exponent (E8M0) in `bytes` bytes of rows is 255, which is no number.
bool has_exponents(DType dtype, const std::byte* rows, size_t bytes) {
  const DTypeInfo& info = dtype_info(dtype);
  for (const BlockScale& scale : info.scales) {
    if (scale.form != ScaleForm::kE8M0) continue;
    for (size_t at = scale.offset; at < bytes; at += info.block_bytes) {
      if (rows[at] == std::byte{255}) return false;
    }
  }
  return true;
}

}  // namespace

void fail_scale(const std::string& source, std::string_view tensor) {
  fail(ErrorCode::kFile,
       "'{}': a scale of tensor {} is negative, infinite or NaN; download the model again", source,
       tensor);
}

size_t pack_scratch_bytes(const WeightSpec& weight) {
  if (weight.packed.code_bits != 0) return 0;
  const PanelScales scales(weight);
  return panel_bytes(weight) + (scales.count() + scales.ordered_count(weight)) * sizeof(float) +
         scratch_bytes(*weight.data, weight.packed.dtype);
}

bool pack_weight_panels(const WeightSpec& weight, const Shard& shard, uint32_t panel0,
                        uint32_t panels, std::byte* scratch) {
  const PackSpec& spec = shard.spec;
  const SourceTensor& tensor = *weight.data;
  const uint64_t first = uint64_t{weight.first} + shard.row0;
  const DType dtype = weight.packed.dtype;
  if (weight.packed.code_bits != 0) return pack_code_panels(weight, shard, panel0, panels);
  const bool in_order = weight.column_runs.length == 0;
  bool good = true;
  // Rows are packed as they lie in the source.
  if (tensor.runs.empty() && dtype == weight.dtype) {
    const size_t stride = row_bytes(dtype, weight.k), row = size_t{panel0} * kPanelRows;
    const std::byte* data = tensor.data.data() + first * stride;
    const size_t rows = std::min<size_t>(size_t{panels} * kPanelRows, spec.rows - row);
    good = has_exponents(dtype, data + row * stride, rows * stride);
    if (in_order) {
      pack_panels(spec, dtype, data, stride, panel0, panels, shard.codes, shard.scales,
                  weight.scale);
      return good;
    }
  }
  for (uint32_t panel = panel0; panel < panel0 + panels; ++panel) {
    const uint32_t row = panel * kPanelRows, count = std::min(kPanelRows, spec.rows - row);
    if (is_fp8(spec.kind)) {
      good = pack_fp8_rows(weight, shard, first + row, count, panel, scratch) && good;
      continue;
    }
    PanelRows rows;
    std::byte* gathered = scratch + panel_bytes(weight);
    good =
        panel_rows(tensor, dtype, first + row, count, gathered, &rows, weight.importance) && good;
    scale_rows(weight, count, gathered);
    if (!in_order) order_columns(weight, scratch, &rows);
    pack_panel(spec, dtype, rows, panel, shard.codes, shard.scales, weight.scale);
  }
  return good;
}

}  // namespace hearth
