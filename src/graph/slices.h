// Slices: the rows of a row-cut weight, and the columns of a column-cut one, that a group computes.
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
  uint32_t lead;  // rows of the first panel before the group's first row
  uint32_t rows;  // the group's own
  uint32_t column;
  uint32_t row;  // the first, in the whole weight
  uint32_t first_row() const { return panel0 * kPanelRows + lead; }  // in the shard
};

// Returns a slice per shard of the group's share, with columns from `*column` on, which is advanced
// past them. If every shard has a copy of the weight, the slices cover all rows: every group
// computes them.
std::vector<RowSlice> row_slices(const Weight& weight, const GroupShare& share, uint32_t* column);

// A piece of partial sums: a subtree over one shard's segments, computed by one group.
struct Piece {
  uint32_t shard;
  UnitRange segments;  // indices into the axis's segments(shard)
};

// Returns the pieces of a column-cut axis that a group computes, in order.
std::vector<Piece> pieces_of(const AxisCuts& cuts, const GroupShare& share);

// Returns a piece's subtrees of the depth that gives `parts` (a power of two) of them, in order; a
// subtree of one segment is not split.
std::vector<Piece> split_piece(const Piece& piece, uint32_t parts);

// Returns the blocks of a column-cut weight's shard that `segment` covers.
UnitRange segment_blocks(const Weight& weight, uint32_t shard, uint32_t segment);

// The columns of one shard of a group's share in the value that a column-cut weight multiplies
// with. That value holds the group's K ranges one after the other, each padded to blocks: its first
// element of the shard stands at `column` of the value, and is column `element` of the whole
// weight.
struct ColumnSlice {
  uint32_t shard;
  uint32_t element, elements;
  uint32_t column;
};
std::vector<ColumnSlice> column_slices(const AxisCuts& cuts, uint32_t unit, uint32_t k,
                                       const GroupShare& share);
// Returns the number of columns of the value that these slices lie in.
uint32_t column_width(const std::vector<ColumnSlice>& slices);

// The fixed order in which all groups' pieces are summed: per shard the tree over its segments,
// then a tree over the shards. It is the program of a stack machine: a piece's index (in order)
// pushes the piece, kAdd replaces the upper two by their sum (lower + upper).
inline constexpr int32_t kAdd = -1;
std::vector<int32_t> sum_program(const std::vector<Piece>& pieces, const AxisCuts& cuts);

}  // namespace hearth
