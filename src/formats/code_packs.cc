#include "formats/code_packs.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "tensor/code_block.h"
#include "tensor/code_tables.h"

namespace hearth {
namespace {

// An upper bound of the number of blocks in a row.
constexpr uint32_t kBlocksOfRow = 1u << 20;
constexpr int32_t kMiddle = 128;

// Returns how many blocks share a scale in the pack, a power of two: the largest that divides the
// file's group of columns.
uint32_t pack_group(const StoredCodes& of) {
  if (of.group >= of.k) return kBlocksOfRow;
  const auto blocks = static_cast<uint32_t>(of.group / kBlock);
  return std::min(kBlocksOfRow, 1u << std::countr_zero(blocks));
}

bool has_zeros(const StoredCodes& of) { return of.zero_order != ZeroOrder::kNone; }

// Returns whether two matrices have the same format, so that one packed tensor can hold both.
bool alike(const StoredCodes& a, const StoredCodes& b) {
  return a.bits == b.bits && a.value == b.value && a.scale == b.scale && a.group == b.group &&
         a.k == b.k;
}

bool any_zeros(const SourceTensor& tensor) {
  return std::ranges::any_of(tensor.runs,
                             [](const SourceRun& run) { return has_zeros(*run.codes); });
}

PackedType integers(const SourceTensor& tensor, const StoredCodes& of) {
  PackForm form = {.scale = of.scale, .group_blocks = pack_group(of)};
  if (any_zeros(tensor)) {
    form.min = ScaleForm::kInteger;
    return {DType::kF32, of.bits == 4 ? PackKind::kL4M : PackKind::kL8M, form, of.bits};
  }
  if (of.bits == 8) return {DType::kF32, PackKind::kL8, form, of.bits};
  form.table = &kTableInt4;
  return {DType::kF32, PackKind::kL4, form, of.bits};
}

}  // namespace

const char* reason_for_floats(const SourceTensor& tensor) {
  const StoredCodes& first = *tensor.runs[0].codes;
  if (first.value == CodeValue::kE4M3) return nullptr;
  if (first.k % kBlock != 0) return "the length of rows is not a multiple of 32";
  const bool halves = first.value == CodeValue::kE2M1 && first.scale == ScaleForm::kE4M3;
  if (!halves && first.group < first.k && first.group % kBlock != 0) {
    return "the length of column groups is not a multiple of 32";
  }
  if (tensor.dealt.length != 0) return "the columns of heads are reordered";
  const bool of_experts = tensor.run_rows() == tensor.matrix_rows();
  for (const SourceRun& run : tensor.runs) {
    if (run.transposed) return "the matrix is transposed";
    if (!run.codes->column_groups.data.empty() && run.codes->column_order == nullptr) {
      return "groups of columns have different sizes";
    }
    if (run.codes->wide_zeros) return "a zero point is 256";
    // Matrices of different experts may each have their own column order.
    if (!of_experts && !same_order(run.codes->column_order, first.column_order)) {
      return "its parts have their columns in different orders of groups";
    }
    if (!alike(*run.codes, first)) return "experts are stored in different ways";
  }
  return nullptr;
}

ColumnOrder column_order_at(const SourceTensor& tensor, uint64_t row) {
  return tensor.runs[row / tensor.run_rows()].codes->column_order;
}

DType code_dtype(const StoredCodes& codes) {
  return codes.value == CodeValue::kE4M3 ? DType::kBF16 : DType::kF32;
}

PackedType codes_packed_type(const SourceTensor& tensor) {
  const StoredCodes& of = *tensor.runs[0].codes;
  if (of.value == CodeValue::kE4M3) return code_dtype(of);
  if (reason_for_floats(tensor) != nullptr) return DType::kF32;
  if (of.value != CodeValue::kE2M1) return integers(tensor, of);
  PackForm form = {.table = &kTableE2m1, .scale = of.scale};
  if (of.scale == ScaleForm::kE4M3) return {DType::kF32, PackKind::kL4H, form, of.bits};
  form.group_blocks = pack_group(of);
  return {DType::kF32, PackKind::kL4, form, of.bits};
}

CodesReader::CodesReader(const std::array<CodeRow, kPanelRows>& rows, const PackedType& type)
    : rows_(rows), kind_(type.kind) {
  for (size_t code = 0; code < values_.size(); ++code) {
    const auto value = static_cast<uint8_t>(code);
    const CodeTable* table = type.form.table;
    values_[code] =
        static_cast<uint8_t>(kCodeZero + (table == nullptr ? value : table->values[code]));
  }
}

bool CodesReader::has_scales(uint64_t begin, uint64_t end) const {
  for (size_t r = 0; r < rows_.size() && rows_[r].codes != nullptr; ++r) {
    const StoredCodes& of = *rows_[r].codes;
    if (kind_ == PackKind::kL4H && !std::isfinite(scale(r))) return false;
    for (uint64_t group = begin / of.group; group * of.group < end; ++group) {
      if (!of.is_scale(of.scale_value(rows_[r].row, group))) return false;
    }
  }
  return true;
}

void CodesReader::read(size_t r, size_t block, CodeBlock& out) const {
  const StoredCodes& of = *rows_[r].codes;
  const uint64_t row = rows_[r].row, column = uint64_t{kBlock} * block;
  of.read(row, block, out.codes);
  if (of.bits == 4) {
    for (uint8_t& code : out.codes) code = values_[code];
  }
  const uint64_t group = column / of.group;
  const uint32_t scale = of.scale_bits(row, group);
  StoredScales& stored = out.stored;
  stored.d = static_cast<f16_t>(scale);
  stored.wide = std::bit_cast<float>(scale);
  stored.scale[0] = static_cast<int8_t>(scale);
  if (kind_ == PackKind::kL4H) {
    const uint64_t second = (column + kBlock / 2) / of.group;
    stored.scale[1] = static_cast<int8_t>(of.scale_bits(row, second));
  } else if (kind_ == PackKind::kL4M) {
    stored.min[0] = static_cast<int8_t>(of.zero_of(row, group));
  } else if (kind_ == PackKind::kL8M) {
    stored.min[0] = static_cast<int8_t>(of.zero_of(row, group) - kMiddle);
  }
}

float CodesReader::scale(size_t r) const {
  const StoredCodes& of = *rows_[r].codes;
  return of.divided ? 1 / of.factor : of.factor;
}

}  // namespace hearth
