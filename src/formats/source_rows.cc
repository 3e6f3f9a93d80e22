#include "formats/source_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "base/fp_types.h"
#include "formats/code_packs.h"
#include "tensor/fit_fp8.h"
#include "tensor/pack_fp8.h"
#include "tensor/quantize_row.h"

namespace hearth {
namespace {

// The place of a tensor's row: its run, and its number there.
struct RowPlace {
  const SourceRun* run;
  uint64_t row;
};

RowPlace place_of(const SourceTensor& tensor, uint64_t row) {
  const uint64_t run_rows = tensor.run_rows();
  return {&tensor.runs[row / run_rows], row % run_rows};
}

// Returns which row of the stored matrix a row of a run is; the run must not be transposed.
uint64_t stored_row(const SourceTensor& tensor, const RowPlace& at) {
  const uint64_t part = tensor.run_rows() / at.run->interleave;
  return at.run->first +
         at.run->step * (at.row % at.run->interleave * part + at.row / at.run->interleave);
}

// Returns which column of the stored matrix a row of a transposed run is.
uint64_t stored_column(const RowPlace& at) { return at.run->column + at.run->step * at.row; }

float scale_at(const StoredMatrix& scales, uint64_t row, uint64_t column) {
  float scale;
  const size_t bytes = dtype_info(scales.dtype).block_bytes;
  dequantize_row(scales.dtype, scales.data.data() + (row * scales.k + column) * bytes, 1, &scale);
  return scale;
}

// Returns how many of n rows, or columns, share a scale if there are `scales` scales for all.
uint64_t sharing(uint64_t n, uint64_t scales) {
  if (scales == 1) return n;
  return scales == n ? 1 : kFp8ScaleBlock;
}
uint64_t rows_a_scale(const SourceRun& run) { return sharing(run.stored.rows, run.scales.rows); }
uint64_t columns_a_scale(const SourceRun& run) { return sharing(run.stored.k, run.scales.k); }

// Returns the scale of element k of a row.
float element_scale(const SourceTensor& tensor, const RowPlace& at, uint64_t k) {
  const uint64_t row = at.run->transposed ? at.run->first + k : stored_row(tensor, at);
  const uint64_t column = at.run->transposed ? stored_column(at) : k;
  return scale_at(at.run->scales, row / rows_a_scale(*at.run), column / columns_a_scale(*at.run));
}

// Returns a key of a row's scales: rows with equal keys have the same scale for each element k.
std::tuple<const std::byte*, uint64_t> scales_of(const SourceTensor& tensor, uint64_t row) {
  const RowPlace at = place_of(tensor, row);
  const StoredMatrix& scales = at.run->scales;
  const size_t bytes = dtype_info(scales.dtype).block_bytes;
  if (!at.run->transposed) {
    const uint64_t scale_row = stored_row(tensor, at) / rows_a_scale(*at.run);
    return {scales.data.data() + scale_row * scales.k * bytes, 0};
  }
  const uint64_t scale_column = stored_column(at) / columns_a_scale(*at.run);
  return {scales.data.data() + scale_column * bytes, at.run->first};
}

// Returns the first element of a row, after element k, that has another scale than element k.
uint64_t next_scale(const SourceRun& run, uint64_t k) {
  const uint64_t each = run.transposed ? rows_a_scale(run) : columns_a_scale(run);
  return k + each - ((run.transposed ? run.first : 0) + k) % each;
}

// Returns whether every 128 columns of a run's rows, counted from the first, share a scale.
bool columns_share_scales(const SourceTensor& tensor, const SourceRun& run) {
  if (tensor.dealt.length % kFp8ScaleBlock != 0) return false;
  for (uint64_t k = next_scale(run, 0); k < tensor.dims[0]; k = next_scale(run, k)) {
    if (k % kFp8ScaleBlock != 0) return false;
  }
  return true;
}

// Returns whether every 128 columns of rows [first, first + rows) share a scale.
bool columns_share_scales(const SourceTensor& tensor, uint64_t first, uint64_t rows) {
  const uint64_t run_rows = tensor.run_rows();
  for (uint64_t run = first / run_rows; run * run_rows < first + rows; ++run) {
    if (!columns_share_scales(tensor, tensor.runs[run])) return false;
  }
  return true;
}

// Returns whether the rows are those of one stored matrix in its order, and each of their panels
// lies in one block of scales.
bool is_plain(const SourceTensor& tensor, uint64_t first, uint64_t rows) {
  const RowPlace at = place_of(tensor, first);
  const uint64_t row = stored_row(tensor, at), each = rows_a_scale(*at.run);
  return at.row + rows <= tensor.run_rows() && at.run->interleave == 1 && at.run->step == 1 &&
         !at.run->transposed &&
         (each == at.run->stored.rows || (each % kPanelRows == 0 && row % kPanelRows == 0));
}

// Returns whether in each panel all rows have the same scales.
bool panels_share_scales(const SourceTensor& tensor, uint64_t first, uint64_t rows) {
  if (is_plain(tensor, first, rows)) return true;
  for (uint64_t row = first; row < first + rows; ++row) {
    const uint64_t panel = row - (row - first) % kPanelRows;
    if (scales_of(tensor, row) != scales_of(tensor, panel)) return false;
  }
  return true;
}

void gather_column(const SourceTensor& tensor, const RowPlace& at, size_t bytes, std::byte* out) {
  const StoredMatrix& stored = at.run->stored;
  const std::byte* from =
      stored.data.data() + (at.run->first * stored.k + stored_column(at)) * bytes;
  for (uint64_t k = 0; k < tensor.dims[0]; ++k) {
    std::memcpy(out + k * bytes, from + k * stored.k * bytes, bytes);
  }
}

bool is_scale(float scale) { return std::isfinite(scale) && scale >= 0; }

// Reads a row of FP8 as floats. Returns false if one of its scales is invalid.
bool scaled_values(const SourceTensor& tensor, const RowPlace& at, float* out) {
  const StoredMatrix& stored = at.run->stored;
  const bool across = at.run->transposed;
  const uint64_t row = across ? at.run->first : stored_row(tensor, at);
  const std::byte* codes = stored.data.data() + row * stored.k + (across ? stored_column(at) : 0);
  const uint64_t step = across ? stored.k : 1;
  float scale = 0;
  bool good = true;
  for (uint64_t k = 0, scale_end = 0; k < tensor.dims[0]; ++k) {
    if (k == scale_end) {
      scale = element_scale(tensor, at, k);
      good = good && is_scale(scale);
      scale_end = next_scale(*at.run, k);
    }
    out[k] = scale * e4m3_to_f32(std::to_integer<e4m3_t>(codes[k * step]));
  }
  return good;
}

// Reads a row of codes as floats. Returns false if one of its scales is invalid.
bool code_values(const SourceTensor& tensor, const RowPlace& at, float* out) {
  const StoredCodes& codes = *at.run->codes;
  if (!at.run->transposed) return codes.values(stored_row(tensor, at), out);
  return codes.column_values(stored_column(at), at.run->first, tensor.dims[0], out);
}

// Reads a row of any other type as floats.
void plain_values(const SourceTensor& tensor, const RowPlace& at, float* out) {
  const StoredMatrix& stored = at.run->stored;
  const size_t row_size = row_bytes(stored.dtype, stored.k);
  if (!at.run->transposed) {
    const std::byte* row = stored.data.data() + stored_row(tensor, at) * row_size;
    return dequantize_row(stored.dtype, row, tensor.dims[0], out);
  }
  const size_t bytes = dtype_info(stored.dtype).block_bytes;
  const std::byte* from = stored.data.data() + at.run->first * row_size + stored_column(at) * bytes;
  for (uint64_t k = 0; k < tensor.dims[0]; ++k) {
    dequantize_row(stored.dtype, from + k * row_size, 1, out + k);
  }
}

// Brings a row's elements, of `element_bytes` each, from the stored order to the tensor's, in
// place, by swaps of runs of columns. A run that an earlier swap moved is found where that swap put
// it.
void deal_columns(const DealtColumns& dealt, size_t element_bytes, std::byte* row) {
  const size_t runs = size_t{dealt.groups} * dealt.count, bytes = dealt.length * element_bytes;
  auto from = [&](size_t run) { return run % dealt.groups * dealt.count + run / dealt.groups; };
  for (size_t run = 0; run < runs; ++run) {
    size_t at = from(run);
    while (at < run) at = from(at);
    if (at != run) std::swap_ranges(row + run * bytes, row + (run + 1) * bytes, row + at * bytes);
  }
}

// Reads a row of any type as floats, in the stored order. Returns false if a scale is invalid.
bool stored_values(const SourceTensor& tensor, uint64_t row, float* out) {
  if (tensor.runs.empty()) {
    const std::byte* data = tensor.data.data() + row * (tensor.data.size() / tensor.rows());
    dequantize_row(tensor.dtype, data, tensor.dims[0], out);
    return true;
  }
  const RowPlace at = place_of(tensor, row);
  if (tensor.has_codes()) return code_values(tensor, at, out);
  if (tensor.dtype == DType::kF8E4M3) return scaled_values(tensor, at, out);
  plain_values(tensor, at, out);
  return true;
}

// Reads a row of any type as floats, in the tensor's order of columns.
bool row_values(const SourceTensor& tensor, uint64_t row, float* out) {
  const bool good = stored_values(tensor, row, out);
  if (tensor.dealt.length != 0) {
    deal_columns(tensor.dealt, sizeof *out, reinterpret_cast<std::byte*>(out));
  }
  return good;
}

// Returns whether rows are used in the type in which they are stored.
bool is_stored_as(const SourceTensor& tensor, DType as) {
  return as == tensor.dtype && !tensor.has_codes();
}

// Returns whether rows are read as F32 and then converted to `as`.
bool is_made(const SourceTensor& tensor, DType as) {
  return as != DType::kF32 && !is_stored_as(tensor, as);
}

// Gives the weights of the columns for a tensor's rows, one row after another.
class RowWeights {
 public:
  // Weights are written to scratch[dims[0]].
  RowWeights(const SourceTensor& tensor, const ImportanceEntry* importance, float* scratch)
      : tensor_(tensor), importance_(importance), scratch_(scratch) {}

  // Returns the weights for a row; null if all columns weigh the same.
  const float* of(uint64_t row) {
    if (importance_ == nullptr) return nullptr;
    const uint64_t matrix = row / tensor_.matrix_rows();
    if (matrix != matrix_) importance_->write_weights(tensor_, row, scratch_);
    matrix_ = matrix;
    return scratch_;
  }

 private:
  const SourceTensor& tensor_;
  const ImportanceEntry* importance_;
  float* scratch_;
  uint64_t matrix_ = UINT64_MAX;  // the matrix that `scratch_` has the weights of
};

// Converts a row of n floats to `as`: BF16, or a type that quantize_row() writes.
void make_row(DType as, const float* row, size_t n, const float* weights, std::byte* out) {
  if (as != DType::kBF16) return quantize_row(as, row, n, weights, out);
  for (size_t k = 0; k < n; ++k) {
    const bf16_t rounded = f32_to_bf16(row[k]);
    std::memcpy(out + k * sizeof rounded, &rounded, sizeof rounded);
  }
}

}  // namespace

PackedType packed_type(const SourceTensor& tensor, uint64_t first, uint64_t rows,
                       uint64_t granule) {
  if (tensor.has_codes()) return codes_packed_type(tensor);
  if (tensor.dtype != DType::kF8E4M3) return tensor.dtype;
  if (!columns_share_scales(tensor, first, rows)) return DType::kF32;
  const bool cut_in_panels = granule % kPanelRows != 0 && granule < rows;
  const bool shared = !cut_in_panels && panels_share_scales(tensor, first, rows);
  return {DType::kF8E4M3, shared ? PackKind::kFP8 : PackKind::kFP8R};
}

size_t scratch_bytes(const SourceTensor& tensor, DType as) {
  const bool in_order =
      tensor.runs.empty() || (!tensor.runs[0].transposed && tensor.dealt.length == 0);
  if (is_stored_as(tensor, as) && in_order) return 0;
  // The scratch holds a row as F32, and the weights of its columns.
  const size_t wide = is_made(tensor, as) ? 2 * tensor.dims[0] * sizeof(float) : 0;
  return wide + kPanelRows * row_bytes(as, tensor.dims[0]);
}

bool panel_rows(const SourceTensor& tensor, DType as, uint64_t row, uint32_t count,
                std::byte* scratch, PanelRows* rows, const ImportanceEntry* importance) {
  const size_t stride = row_bytes(as, tensor.dims[0]);
  const bool gathered = scratch_bytes(tensor, as) > 0;
  auto* wide = is_made(tensor, as) ? reinterpret_cast<float*>(scratch) : nullptr;
  RowWeights weights(tensor, importance, wide + (wide != nullptr ? tensor.dims[0] : 0));
  if (wide != nullptr) scratch += 2 * tensor.dims[0] * sizeof(float);
  bool good = true;
  *rows = {};
  for (uint32_t r = 0; r < count; ++r) {
    std::byte* own = gathered ? scratch + r * stride : nullptr;
    const std::byte*& out = (*rows)[r];
    out = own;
    if (wide != nullptr) {
      good = row_values(tensor, row + r, wide) && good;
      make_row(as, wide, tensor.dims[0], weights.of(row + r), own);
    } else if (!is_stored_as(tensor, as)) {
      good = row_values(tensor, row + r, reinterpret_cast<float*>(own)) && good;
    } else if (tensor.runs.empty()) {
      out = tensor.data.data() + (row + r) * stride;
    } else {
      const RowPlace at = place_of(tensor, row + r);
      if (at.run->transposed) {
        gather_column(tensor, at, dtype_info(as).block_bytes, own);
      } else {
        out = at.run->stored.data.data() + stored_row(tensor, at) * stride;
      }
      if (tensor.dealt.length != 0) {
        std::memcpy(own, out, stride);
        deal_columns(tensor.dealt, dtype_info(as).block_bytes, own);
        out = own;
      }
    }
  }
  return good;
}

CodesReader panel_codes(const SourceTensor& tensor, const PackedType& type, uint64_t row,
                        uint32_t count, const uint32_t* order) {
  std::array<CodeRow, kPanelRows> rows = {};
  for (uint32_t r = 0; r < count; ++r) {
    const RowPlace at = place_of(tensor, row + (order == nullptr ? r : order[r]));
    rows[r] = {at.run->codes, stored_row(tensor, at)};
  }
  return {rows, type};
}

bool panel_scales(const SourceTensor& tensor, uint64_t row, uint32_t count, float* out) {
  bool good = true;
  for (uint64_t r = row; r < row + count; ++r) {
    const RowPlace at = place_of(tensor, r);
    for (uint64_t k = 0; k < tensor.dims[0]; k += kFp8ScaleBlock) {
      const uint64_t from = tensor.dealt.length == 0 ? k : tensor.dealt.stored(k);
      const float scale = element_scale(tensor, at, from);
      good = good && is_scale(scale);
      *out++ = scale;
    }
  }
  return good;
}

bool panel_as_fp8(const SourceTensor& tensor, uint64_t row, uint32_t count, std::byte* scratch,
                  PanelRows* rows, float* scales, const ImportanceEntry* importance) {
  const size_t n = tensor.dims[0];
  auto* wide = reinterpret_cast<float*>(scratch);
  RowWeights weights(tensor, importance, wide + n);
  auto* codes = reinterpret_cast<e4m3_t*>(wide + 2 * n);
  bool good = true;
  *rows = {};
  for (uint32_t r = 0; r < count; ++r, codes += n) {
    good = row_values(tensor, row + r, wide) && good;
    const float* own = weights.of(row + r);
    fit_fp8(wide, n, own, codes, scales);
    scales += fp8_scale_blocks(n);
    (*rows)[r] = reinterpret_cast<const std::byte*>(codes);
  }
  return good;
}

FileRange run_range(const SourceTensor& tensor, uint64_t run, uint64_t first, uint64_t rows) {
  if (tensor.runs.empty()) {
    const uint64_t row_size = tensor.data.size() / tensor.rows();
    return {tensor.part, tensor.offset + first * row_size, rows * row_size};
  }
  const SourceRun& at = tensor.runs[run];
  StoredPart place = {{}, at.stored.part, at.stored.offset};
  uint64_t row_size = 0;
  if (at.codes == nullptr) {
    row_size = row_bytes(at.stored.dtype, at.stored.k);
  } else {
    place = at.codes->codes;
    if (at.codes->order != CodeOrder::kAlongRows)
      return {place.part, place.offset, place.data.size()};
    row_size = at.codes->line_bytes;
  }
  const uint64_t run_rows = tensor.run_rows();
  uint64_t begin = 0, count = at.transposed ? tensor.dims[0] : run_rows;
  if (!at.transposed && at.interleave == 1) {
    begin = first > run * run_rows ? first - run * run_rows : 0;
    count = std::min(run_rows, first + rows - run * run_rows) - begin;
  }
  const uint64_t step = at.transposed ? 1 : at.step;
  return {place.part, place.offset + (at.first + step * begin) * row_size,
          ((count - 1) * step + 1) * row_size};
}

}  // namespace hearth
