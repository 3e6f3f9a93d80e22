// Packs tensors that lie in files as codes of another quantiser (formats/stored_codes.h): chooses
// the packed type, and reads the codes of a panel for it. Integers become kL4 or kL8, with zero
// points kL4M or kL8M; E2M1 becomes kL4 if its scales are E8M0, kL4H if they are E4M3: codes and
// scales stay as they are. E4M3 codes with E8M0 scales are packed as BF16, which holds all their
// values except those below 2^-133. Codes that no pack takes are read as F32 (reason_for_floats).
//
// If columns do not lie in the order of their groups, a pack has them sorted by group
// (StoredCodes::column_order). So a product with the pack has to gather its input in that order.
// Rows that are read as floats keep the stored order.
//
// Nothing here allocates or throws: threads that pack call it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "formats/source_tensor.h"
#include "tensor/pack_spec.h"

namespace hearth {

// Returns the packed type of all rows of a tensor whose runs have codes.
PackedType codes_packed_type(const SourceTensor& tensor);

// Returns the order in which a pack has the columns of the matrix that contains `row`; null if that
// is the stored order.
ColumnOrder column_order_at(const SourceTensor& tensor, uint64_t row);

// Returns the type in which rows of codes are read if no pack takes the codes: F32, or BF16 for
// E4M3.
DType code_dtype(const StoredCodes& codes);

// Returns why the rows of a tensor of codes are packed as F32, which takes 4 or 8 times as much
// memory: "columns become rows"; null if they are not packed as F32.
const char* reason_for_floats(const SourceTensor& tensor);

// One row of a matrix of codes.
struct CodeRow {
  const StoredCodes* codes = nullptr;
  uint64_t row = 0;
};

// Reads the codes of one panel's rows, block by block, in the form that packing needs.
class CodesReader final : public BlockReader {
 public:
  // `rows` are the panel's rows; those with null codes are padding, and come last.
  CodesReader(const std::array<CodeRow, kPanelRows>& rows, const PackedType& type);

  // Returns whether the scales of columns [begin, end) are valid: finite and, except for those of
  // integer codes, not negative.
  bool has_scales(uint64_t begin, uint64_t end) const;

  void read(size_t r, size_t block, CodeBlock& out) const override;
  float scale(size_t r) const override;

 private:
  std::array<CodeRow, kPanelRows> rows_;
  PackKind kind_;
  std::array<uint8_t, 16> values_ = {};  // values of 4-bit codes, plus kCodeZero
};

}  // namespace hearth
