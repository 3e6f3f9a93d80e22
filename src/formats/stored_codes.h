// A matrix [rows][k] whose elements lie in files as codes of 4 or 8 bits in a layout of another
// quantiser (formats/hf_quant.h), and how its rows are read: codes, and a scale and a zero for
// every group of columns. Packs are filled from it, a panel at a time. It hides how layouts differ:
// whether codes lie along rows or columns, in which order eight codes lie in a word, and where
// zeros are.
//
// Element (r, c) has the value scale(r, g) x value of its code, times `factor`, or divided by it if
// `divided`; g is the group of column c; the value of an integer code q is q - zero(r, g).
//
// Nothing here allocates or throws: threads that pack call it. Code that makes a StoredCodes must
// have checked that all parts are as long as rows, k and groups call for, and that group indices
// are in range.
//
// If columns do not lie in the order of their groups, packs have them sorted by group
// (column_order). Rows that are read as floats keep the stored order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/column_order.h"
#include "tensor/pack_kind.h"

namespace hearth {

// The position of code (r, c). Words are of 32 bits, little endian, and have `per` = 32 / bits
// codes.
enum class CodeOrder : uint8_t {
  kAlongRows,     // rows of line_bytes, codes one behind the other, the low bits first
  kAlongColumns,  // words [ceil(k / per)][rows]: `per` columns of a row, the low bits first
  kAcrossRows,    // words [k][rows / 8]: eight rows of a column, in AWQ's order. 4 bits
};

enum class CodeValue : uint8_t {
  kInteger,  // q - zero
  kSigned,   // two's complement of 8 bits; read as an integer code 128 larger, with zero 128
  kE2M1,     // 0, 0.5, 1, 1.5, 2, 3, 4, 6, and with 8 more the same below zero
  kE4M3,     // base/fp_types.h
};

// The position of the zero of row r and group g, in words as above.
enum class ZeroOrder : uint8_t {
  kNone,        // all are `zero`
  kAlongRows,   // words [groups][rows / per], the low bits first
  kAwq,         // the same, in AWQ's order
  kDownGroups,  // words [ceil(rows / per)][groups]
};

// A range of bytes of the file with index `part`.
struct StoredPart {
  std::span<const std::byte> data;  // need not be aligned
  uint32_t part = 0;                // index of the file
  uint64_t offset = 0;              // of `data` in that file
};

struct StoredCodes {
  const char* name;  // of the layout: "gptq4"
  uint64_t rows, k;
  uint32_t bits;  // 4 or 8
  CodeOrder order;
  CodeValue value;
  StoredPart codes;
  uint64_t line_bytes = 0;  // for kAlongRows
  // The columns that share a scale: k, or a multiple of 16.
  uint64_t group;
  uint64_t groups;  // ceil(k / group)
  ScaleForm scale;  // kF16, kBF16, kF32, kE8M0 or kE4M3
  StoredPart scales;
  // The index of scale (r, g) is r * scale_row + g * scale_group.
  uint64_t scale_row, scale_group;
  int32_t zero = 0;
  ZeroOrder zero_order = ZeroOrder::kNone;
  StoredPart zeros = {};
  int32_t zero_offset = 0;  // is added to stored zeros
  bool wide_zeros = false;  // some zero is 256, which does not fit a byte
  // I32 [k], the group of each column; empty if column c is in group c / group.
  StoredPart column_groups = {};
  // The columns sorted by group, if each group but the last has `group` columns. Null if they are
  // stored in that order, or if groups have other sizes.
  ColumnOrder column_order = {};
  float factor = 1;
  bool divided = false;

  uint64_t group_of(uint64_t column) const;
  // Returns the bits of a scale as the file has them: f16, bf16, f32, E8M0 or E4M3.
  uint32_t scale_bits(uint64_t row, uint64_t group) const;
  float scale_value(uint64_t row, uint64_t group) const;
  // Returns whether `value` is valid as a scale: finite and, except for those of integer codes, not
  // negative. Some quantisers store negative scales for integer codes.
  bool is_scale(float value) const;
  int32_t zero_of(uint64_t row, uint64_t group) const;
  // Writes the codes of columns [32 block, 32 block + 32), in the pack's order, to out[32]; 0
  // behind the last column.
  void read(uint64_t row, uint64_t block, uint8_t* out) const;
  // Writes the values of a row to out[k]. Each is rounded once if scale x code is exact in f32, as
  // for all scales except those of f32. Returns false if a scale is invalid (is_scale).
  bool values(uint64_t row, float* out) const;
  // Writes elements [first, first + count) of a column to out[count].
  bool column_values(uint64_t column, uint64_t first, uint64_t count, float* out) const;

 private:
  // These use the order in which columns are stored.
  void read_as_stored(uint64_t row, uint64_t block, uint8_t* out) const;
  bool value_at(uint64_t row, uint64_t column, uint8_t code, float* out) const;
};

}  // namespace hearth
