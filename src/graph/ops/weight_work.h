// What a group does with its part of a weight in a step of so many rows (graph/op_work.h), counted
// when the graph is built. The parts of all groups sum up to the packed bytes of all shards and to
// 2 x rows x weight.rows x weight.k operations, wherever the boundaries between groups lie; rows
// that several shards hold count for each.
#pragma once

#include "graph/op_work.h"
#include "graph/slices.h"
#include "tensor/weight.h"

namespace hearth {

class WeightWork {
 public:
  // The group's rows of a row-cut weight. A panel that two groups share is counted by rows.
  void add(const Weight& weight, const RowSlice& slice);
  // All rows of a column-cut weight over the piece's segments.
  void add(const Weight& weight, const Piece& piece);

  // In a step of `rows` rows, with kernels of a level that has `units`; nothing where there are
  // none.
  OpWork of(uint32_t rows, const UnitSet& units) const;

 private:
  uint64_t bytes_ = 0;
  std::array<uint64_t, kActFormats> row_operations_{};  // of one row, by ActFormat
};

}  // namespace hearth
