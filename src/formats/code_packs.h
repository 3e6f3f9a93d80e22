// How tensors that lie in files as codes (formats/stored_codes.h) are packed, and the reader that
// fills panels from them. Integers become kL4 or kL8, with zero points kL4M or kL8M; E2M1 with
// scales of E8M0 kL4, with those of E4M3 kL4H: codes and scales stay as they are. E4M3 with E8M0
// has values that BF16 holds, but for what is below 2^-133, and is packed as that. The rest is read
// as F32 (reason_for_floats).
//
// Where columns lie in no order of groups, a pack has them by group (StoredCodes::column_order), so
// that who multiplies with it has to gather its input in that order; floats have them as they lie.
//
// Nothing here allocates or throws: threads that pack call it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "formats/source_tensor.h"
#include "tensor/pack_spec.h"

namespace hearth {

// Returns the type of all rows of a tensor whose runs have codes.
PackedType codes_packed_type(const SourceTensor& tensor);

// The order in which a pack has the columns of the matrix that such a row belongs to, or null.
ColumnOrder column_order_at(const SourceTensor& tensor, uint64_t row);

// Returns the type in which rows of codes are read where no pack takes them: F32, or BF16 for E4M3.
DType code_dtype(const StoredCodes& codes);

// Says why such a tensor's rows become F32, which takes 4 or 8 times as much memory: "columns
// become rows"; null where they do not.
const char* reason_for_floats(const SourceTensor& tensor);

// A row of codes.
struct CodeRow {
  const StoredCodes* codes = nullptr;
  uint64_t row = 0;
};

// Reads the blocks of a panel's rows as a pack wants them.
class CodesReader final : public BlockReader {
 public:
  // `rows` are those of the panel; those without codes are padding, and come last.
  CodesReader(const std::array<CodeRow, kPanelRows>& rows, const PackedType& type);

  // Whether the scales of columns [begin, end) are numbers, and none is below zero but those of
  // integers.
  bool has_scales(uint64_t begin, uint64_t end) const;

  void read(size_t r, size_t block, CodeBlock& out) const override;
  float scale(size_t r) const override;

 private:
  std::array<CodeRow, kPanelRows> rows_;
  PackKind kind_;
  std::array<uint8_t, 16> values_ = {};  // of codes of 4 bits, plus kCodeZero
};

}  // namespace hearth
