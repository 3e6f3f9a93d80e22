#include "graph/slices.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "base/round_up.h"

namespace hearth {
namespace {

// Appends the program of the subtree over leaves [begin, begin + width). If a subtree is available
// as a whole, `whole` appends its program and returns true.
template <typename Whole>
bool append_tree(uint32_t begin, uint32_t width, uint32_t leaves, const Whole& whole,
                 std::vector<int32_t>* program) {
  if (begin >= leaves) return false;
  if (whole(begin, std::min(begin + width, leaves))) return true;
  HEARTH_CHECK(width > 1, "every leaf is covered by a piece");
  bool left = append_tree(begin, width / 2, leaves, whole, program);
  bool right = append_tree(begin + width / 2, width / 2, leaves, whole, program);
  if (left && right) program->push_back(kAdd);
  return left || right;
}

}  // namespace

namespace {

// Returns the slices of a replicated weight: its panels are dealt to the shards of the share, and
// each shard's threads read their own copy.
std::vector<RowSlice> slices_of_copies(const Weight& weight, const GroupShare& share,
                                       uint32_t* column) {
  std::vector<RowSlice> slices;
  const uint32_t panels = weight.shards[share.shard_begin].spec.panels();
  const uint32_t shards = share.shard_end - share.shard_begin;
  for (uint32_t i = 0; i < shards; ++i) {
    const uint32_t begin = panels * i / shards, end = panels * (i + 1) / shards;
    const uint32_t row = begin * kPanelRows;
    const uint32_t rows = std::min(end * kPanelRows, weight.rows) - std::min(row, weight.rows);
    slices.push_back({share.shard_begin + i, begin, end - begin, 0, rows, *column, row});
    *column += slices.back().panels * kPanelRows;
  }
  return slices;
}

}  // namespace

std::vector<RowSlice> row_slices(const Weight& weight, const GroupShare& share, uint32_t* column) {
  if (weight.cut == CutBy::kWhole) return slices_of_copies(weight, share, column);
  HEARTH_CHECK(weight.cut == CutBy::kRows, "slices of rows");
  std::vector<RowSlice> slices;
  for (uint32_t s = share.shard_begin; s < share.shard_end; ++s) {
    const Shard& shard = weight.shards[s];
    UnitRange units = share.units(*weight.cuts, s);
    uint32_t row = std::min(units.begin * weight.unit, weight.rows);
    uint32_t begin = row - shard.row0;
    uint32_t end = std::min(units.end * weight.unit, weight.rows) - shard.row0;
    RowSlice slice{s, begin / kPanelRows, 0, begin % kPanelRows, end - begin, *column, row};
    if (slice.rows > 0) slice.panels = (end + kPanelRows - 1) / kPanelRows - slice.panel0;
    *column += slice.panels * kPanelRows;
    slices.push_back(slice);
  }
  return slices;
}

std::vector<Piece> pieces_of(const AxisCuts& cuts, const GroupShare& share) {
  std::vector<Piece> pieces;
  for (uint32_t s = share.shard_begin; s < share.shard_end; ++s) {
    UnitRange range = share.segments(cuts, s);
    auto leaves = static_cast<uint32_t>(cuts.segments(s).size());
    for (UnitRange piece : tree_pieces(range.begin, range.end, leaves))
      pieces.push_back({s, piece});
  }
  return pieces;
}

std::vector<Piece> split_piece(const Piece& piece, uint32_t parts) {
  const auto [begin, end] = piece.segments;
  if (parts <= 1 || end - begin <= 1) return {piece};
  const uint32_t middle = begin + std::bit_ceil(end - begin) / 2;
  std::vector<Piece> pieces = split_piece({piece.shard, {begin, middle}}, parts / 2);
  for (const Piece& right : split_piece({piece.shard, {middle, end}}, parts / 2)) {
    pieces.push_back(right);
  }
  return pieces;
}

UnitRange segment_blocks(const Weight& weight, uint32_t shard, uint32_t segment) {
  UnitRange units = weight.cuts->segments(shard)[segment];
  uint32_t origin = weight.shards[shard].spec.k_origin;
  uint32_t begin = units.begin * weight.unit - origin;
  uint32_t end = std::min(units.end * weight.unit, weight.k) - origin;
  return {begin / kBlock, (end + kBlock - 1) / kBlock};
}

std::vector<ColumnSlice> column_slices(const AxisCuts& cuts, uint32_t unit, uint32_t k,
                                       const GroupShare& share) {
  std::vector<ColumnSlice> slices;
  uint32_t column = 0;
  for (uint32_t s = share.shard_begin; s < share.shard_end; ++s) {
    UnitRange units = share.units(cuts, s);
    uint32_t begin = std::min(units.begin * unit, k), end = std::min(units.end * unit, k);
    slices.push_back({s, begin, end - begin, column});
    column += round_up(end - begin, kBlock);
  }
  return slices;
}

uint32_t column_width(const std::vector<ColumnSlice>& slices) {
  return slices.back().column + round_up(slices.back().elements, kBlock);
}

std::vector<int32_t> sum_program(const std::vector<Piece>& pieces, const AxisCuts& cuts) {
  std::vector<int32_t> program;
  auto shard_program = [&](uint32_t s) {
    auto leaves = static_cast<uint32_t>(cuts.segments(s).size());
    if (leaves == 0) return false;
    auto whole = [&](uint32_t begin, uint32_t end) {
      for (size_t i = 0; i < pieces.size(); ++i) {
        if (pieces[i].shard == s && pieces[i].segments == UnitRange{begin, end}) {
          program.push_back(static_cast<int32_t>(i));
          return true;
        }
      }
      return false;
    };
    return append_tree(0, std::bit_ceil(leaves), leaves, whole, &program);
  };
  // Empty shards have no sums, so the tree is built over the other shards.
  std::vector<uint32_t> filled;
  for (uint32_t s = 0; s < cuts.shard_count(); ++s) {
    if (!cuts.segments(s).empty()) filled.push_back(s);
  }
  auto whole_shard = [&](uint32_t begin, uint32_t end) {
    return end - begin == 1 && shard_program(filled[begin]);
  };
  auto count = static_cast<uint32_t>(filled.size());
  append_tree(0, std::bit_ceil(count), count, whole_shard, &program);
  return program;
}

}  // namespace hearth
