// Which rows of a row-cut weight, and which columns of a column-cut one, a group computes.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/plan.h"
#include "tensor/weight.h"

namespace hearth {

// The rows of one shard that a group computes, as whole panels. The panels' outputs stand in a
// value of the group from column `column` on; the group's own rows begin `lead` columns later (a
// boundary between groups may lie inside a panel).
struct RowSlice {
  uint32_t shard;
  uint32_t panel0, panels;
  uint32_t lead;  // rows before the group's first in its first panel
  uint32_t rows;  // the group's own
  uint32_t column;
  uint32_t row;  // the first, in the whole weight
  uint32_t first_row() const { return panel0 * kPanelRows + lead; }  // in the shard
};

// A slice per shard of the group's share, columns from `column` on; `*width` is advanced past them.
std::vector<RowSlice> row_slices(const Weight& weight, const GroupShare& share, uint32_t* column);

// A piece of partial sums: a node of the tree over one shard's segments, computed by one group.
struct Piece {
  uint32_t shard;
  UnitRange segments;  // indices into the axis's segments(shard)
};

// The pieces of a column-cut axis that a group computes, in order.
std::vector<Piece> pieces_of(const AxisCuts& cuts, const GroupShare& share);

// The blocks of a column-cut weight's shard that segment i covers.
UnitRange segment_blocks(const Weight& weight, uint32_t shard, uint32_t segment);

// The columns of the shards of a group's share in the value that a column-cut weight multiplies
// with: its K ranges one after the other, each padded to blocks. `column` of a slot is where the
// group's first element of that shard stands; `element` is that element's column in the whole
// weight.
struct ColumnSlice {
  uint32_t shard;
  uint32_t element, elements;
  uint32_t column;
};
std::vector<ColumnSlice> column_slices(const AxisCuts& cuts, uint32_t unit, uint32_t k,
                                       const GroupShare& share);
// Columns of that value in all.
uint32_t column_width(const std::vector<ColumnSlice>& slices);

// The fixed order in which all groups' pieces are summed: per shard the tree over its segments,
// then a tree over the shards. Steps of a stack machine: a piece index (in order) pushes it, kAdd
// replaces the upper two by their sum (lower + upper).
inline constexpr int32_t kAdd = -1;
std::vector<int32_t> sum_program(const std::vector<Piece>& pieces, const AxisCuts& cuts);

}  // namespace hearth
