#include "graph/slices.h"

#include <gtest/gtest.h>

#include <set>

namespace hearth {
namespace {

// Runs a sum program over strings, and returns the tree as text.
std::string tree_text(const std::vector<int32_t>& program, const std::vector<Piece>& pieces) {
  std::vector<std::string> stack;
  for (int32_t step : program) {
    if (step != kAdd) {
      const Piece& p = pieces[static_cast<size_t>(step)];
      std::string text;
      // A piece stands for the tree over its segments.
      std::vector<std::string> leaves;
      for (uint32_t s = p.segments.begin; s < p.segments.end; ++s) {
        leaves.push_back(std::to_string(p.shard) + "." + std::to_string(s));
      }
      while (leaves.size() > 1) {
        std::vector<std::string> next;
        for (size_t i = 0; i + 1 < leaves.size(); i += 2) {
          next.push_back("(" + leaves[i] + "+" + leaves[i + 1] + ")");
        }
        if (leaves.size() % 2) next.push_back(leaves.back());
        leaves = next;
      }
      stack.push_back(leaves[0]);
      continue;
    }
    std::string right = stack.back();
    stack.pop_back();
    stack.back() = "(" + stack.back() + "+" + right + ")";
  }
  EXPECT_EQ(stack.size(), 1u);
  return stack[0];
}

std::vector<Piece> all_pieces(const AxisCuts& cuts, const Plan& plan) {
  std::vector<Piece> pieces;
  for (const PlanGroup& group : plan.groups) {
    for (const Piece& piece : pieces_of(cuts, group.share)) pieces.push_back(piece);
  }
  return pieces;
}

TEST(SumProgram, IsTheSameTreeForEveryNumberOfGroups) {
  for (uint32_t shards : {1u, 2u, 3u}) {
    for (uint32_t units : {1u, 2u, 3u, 5u, 6u, 7u, 8u, 24u, 100u}) {
      AxisCuts cuts(units, 1, std::vector<uint32_t>(shards, 1));
      std::set<std::string> trees;
      for (uint32_t parts : {1u, 2u, 3u, 4u, 5u, 8u}) {
        Plan plan = even_plan(Phase::kDecode, 1, shards, shards * parts, shards * parts);
        std::vector<Piece> pieces = all_pieces(cuts, plan);
        trees.insert(tree_text(sum_program(pieces, cuts), pieces));
      }
      Plan wide = even_plan(Phase::kDecode, 1, shards, 1, 1);
      std::vector<Piece> pieces = all_pieces(cuts, wide);
      trees.insert(tree_text(sum_program(pieces, cuts), pieces));
      EXPECT_EQ(trees.size(), 1u) << shards << " shards, " << units << " units: " << *trees.begin();
    }
  }
}

TEST(RowSlices, CoverEveryRowOnceInWholePanels) {
  AxisCuts cuts(5, 1, std::vector<uint32_t>{1, 1});
  Weight weight = cut_weight("w", DType::kF32, 5 * 20, 64, CutBy::kRows, cuts, 20);
  for (uint32_t groups : {1u, 2u, 4u}) {
    Plan plan = even_plan(Phase::kDecode, 1, 2, groups, 4);
    std::vector<int> seen(100, 0);
    for (const PlanGroup& group : plan.groups) {
      uint32_t column = 0;
      for (const RowSlice& slice : row_slices(weight, group.share, &column)) {
        EXPECT_EQ(slice.column % kPanelRows, 0u);
        EXPECT_LE(slice.lead + slice.rows, slice.panels * kPanelRows);
        for (uint32_t r = 0; r < slice.rows; ++r) {
          ++seen[weight.shards[slice.shard].row0 + slice.first_row() + r];
        }
      }
    }
    EXPECT_EQ(seen, std::vector<int>(100, 1));
  }
}

TEST(SegmentBlocks, CoverAShardsBlocks) {
  AxisCuts cuts(11, 1, std::vector<uint32_t>{1, 1});  // 11 units of 32, the last one short
  Weight weight = cut_weight("w", DType::kF32, 48, 340, CutBy::kColumns, cuts, 32);
  for (uint32_t s = 0; s < 2; ++s) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < cuts.segments(s).size(); ++i) {
      UnitRange blocks = segment_blocks(weight, s, i);
      EXPECT_EQ(blocks.begin, at);
      at = blocks.end;
    }
    EXPECT_EQ(at, weight.shards[s].spec.blocks());
  }
}

// Every group computes all rows. A group over several shards deals them to the shards by panels.
TEST(RowSlices, CoverAllRowsOfCopies) {
  const Weight weight = whole_weight("router", DType::kF32, 70, 64, {true, true, true});
  for (uint32_t shards : {1u, 2u, 3u}) {
    GroupShare share{.shard_begin = 3 - shards, .shard_end = 3};
    uint32_t column = 0, row = 0;
    for (const RowSlice& slice : row_slices(weight, share, &column)) {
      EXPECT_EQ(slice.row, row);
      EXPECT_EQ(slice.column, slice.panel0 * kPanelRows);
      EXPECT_EQ(weight.shards[slice.shard].spec.rows, 70u);
      row += slice.rows;
    }
    EXPECT_EQ(row, 70u);
    EXPECT_EQ(column, 80u);
  }
}

TEST(Slices, PiecesSplitIntoSubtrees) {
  auto ends = [](uint32_t begin, uint32_t end, uint32_t parts) {
    std::vector<uint32_t> all;
    for (const Piece& piece : split_piece({1, {begin, end}}, parts)) {
      EXPECT_EQ(piece.shard, 1u);
      EXPECT_EQ(piece.segments.begin, all.empty() ? begin : all.back());
      all.push_back(piece.segments.end);
    }
    return all;
  };
  using Ends = std::vector<uint32_t>;
  EXPECT_EQ(ends(0, 8, 1), (Ends{8}));
  EXPECT_EQ(ends(0, 8, 2), (Ends{4, 8}));
  EXPECT_EQ(ends(0, 8, 8), (Ends{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(ends(4, 6, 4), (Ends{5, 6})) << "segments are not split";
  EXPECT_EQ(ends(0, 7, 2), (Ends{4, 7}));
  EXPECT_EQ(ends(0, 7, 4), (Ends{2, 4, 6, 7}));
  EXPECT_EQ(ends(0, 3, 2), (Ends{2, 3}));
}

// Pieces that are split any number of times add up by the same tree.
TEST(Slices, SplitPiecesAreAddedByTheSameTree) {
  for (uint32_t units : {3u, 5u, 7u, 8u, 40u}) {
    const AxisCuts cuts(units, 1, std::vector<uint32_t>{1});
    const std::vector<Piece> whole = pieces_of(cuts, {0, 1, 0, 1});
    const std::string expected = tree_text(sum_program(whole, cuts), whole);
    for (uint32_t parts : {2u, 4u, 8u}) {
      std::vector<Piece> split;
      for (const Piece& piece : whole) {
        for (const Piece& part : split_piece(piece, parts)) split.push_back(part);
      }
      EXPECT_GT(split.size(), whole.size());
      EXPECT_EQ(tree_text(sum_program(split, cuts), split), expected) << units << " " << parts;
    }
  }
}

}  // namespace
}  // namespace hearth
