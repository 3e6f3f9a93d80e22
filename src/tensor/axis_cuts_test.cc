#include "tensor/axis_cuts.h"

#include <gtest/gtest.h>

#include <random>

namespace hearth {
namespace {

TEST(AxisCuts, OneShardHasEightSegments) {
  std::vector<uint32_t> shares = {1};
  AxisCuts cuts(96, 1, shares);
  EXPECT_EQ(cuts.shard(0), (UnitRange{0, 96}));
  ASSERT_EQ(cuts.segments(0).size(), kSegments);
  EXPECT_EQ(cuts.segments(0)[3], (UnitRange{36, 48}));
}

TEST(AxisCuts, FewGranulesMakeFewSegmentsAndEmptyShards) {
  std::vector<uint32_t> shares = {1, 1, 1, 1};
  AxisCuts cuts(2, 1, shares);
  uint32_t owned = 0;
  for (uint32_t s = 0; s < 4; ++s) owned += cuts.shard(s).size();
  EXPECT_EQ(owned, 2u);
  AxisCuts whole(3, 4, shares);  // one granule is wider than the axis
  uint32_t owners = 0;
  for (uint32_t s = 0; s < 4; ++s) owners += whole.shard(s).size() == 3;
  EXPECT_EQ(owners, 1u);
}

TEST(AxisCuts, RandomAxesAreCoveredInOrderAtGranules) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    uint32_t units = 1 + random() % 300;
    uint32_t granule = 1 + random() % 5;
    std::vector<uint32_t> shares(1 + random() % 6);
    for (uint32_t& share : shares) share = random() % 4;
    shares[random() % shares.size()] += 1;
    AxisCuts cuts(units, granule, shares);
    uint32_t at = 0;
    for (uint32_t s = 0; s < cuts.shard_count(); ++s) {
      EXPECT_EQ(cuts.shard(s).begin, at);
      EXPECT_LE(cuts.segments(s).size(), kSegments);
      for (UnitRange segment : cuts.segments(s)) {
        EXPECT_EQ(segment.begin, at);
        EXPECT_GT(segment.size(), 0u);
        EXPECT_TRUE(segment.end % granule == 0 || segment.end == units);
        at = segment.end;
      }
      EXPECT_EQ(cuts.shard(s).end, at);
      for (uint32_t parts = 1; parts <= 5; ++parts) {
        uint32_t next = cuts.shard(s).begin;
        for (uint32_t part = 0; part < parts; ++part) {
          UnitRange range = cuts.part_units(s, part, parts);
          if (range.size() == 0) continue;
          EXPECT_EQ(range.begin, next);
          next = range.end;
        }
        EXPECT_EQ(next, cuts.shard(s).end);
      }
    }
    EXPECT_EQ(at, units);
  }
}

// Two shards share 3 runs of 4 units. The shards meet inside the middle run, while the segments of
// a shard meet at the ends of that run.
TEST(AxisCuts, ShardsMeetInsideRunsAndSegmentsBetween) {
  AxisCuts cuts(12, 1, std::vector<uint32_t>{1, 1}, 4);
  EXPECT_EQ(cuts.shard(0), (UnitRange{0, 6}));
  ASSERT_EQ(cuts.segments(0).size(), 2u);
  EXPECT_EQ(cuts.segments(0)[0], (UnitRange{0, 4}));
  EXPECT_EQ(cuts.segments(0)[1], (UnitRange{4, 6}));
  ASSERT_EQ(cuts.segments(1).size(), 2u);
  EXPECT_EQ(cuts.segments(1)[0], (UnitRange{6, 8}));
  AxisCuts wide = cuts.widened(4);
  EXPECT_EQ(wide.units(), 3u);
  EXPECT_EQ(wide.shard(0), (UnitRange{0, 2}));
  EXPECT_EQ(wide.shard(1), (UnitRange{1, 3}));
  EXPECT_EQ(wide.segments(1)[0], (UnitRange{1, 2}));
  EXPECT_EQ(wide.part_units(1, 1, 2), (UnitRange{2, 3}));
  // The granule of 2 units does not divide the run of 3, so segments meet at multiples of 6 units.
  AxisCuts both(24, 2, std::vector<uint32_t>{1}, 3);
  ASSERT_EQ(both.segments(0).size(), 4u);
  EXPECT_EQ(both.segments(0)[1], (UnitRange{6, 12}));
}

TEST(TreePieces, AreAlignedNodes) {
  EXPECT_EQ(tree_pieces(0, 8, 8), (std::vector<UnitRange>{{0, 8}}));
  EXPECT_EQ(tree_pieces(0, 3, 8), (std::vector<UnitRange>{{0, 2}, {2, 3}}));
  EXPECT_EQ(tree_pieces(3, 6, 8), (std::vector<UnitRange>{{3, 4}, {4, 6}}));
  EXPECT_EQ(tree_pieces(0, 6, 6), (std::vector<UnitRange>{{0, 6}}));
  EXPECT_EQ(tree_pieces(3, 6, 6), (std::vector<UnitRange>{{3, 4}, {4, 6}}));
  EXPECT_EQ(tree_pieces(4, 7, 7), (std::vector<UnitRange>{{4, 7}}));
  EXPECT_EQ(tree_pieces(0, 1, 1), (std::vector<UnitRange>{{0, 1}}));
  EXPECT_TRUE(tree_pieces(2, 2, 8).empty());
}

TEST(TreePieces, CutsOfOneTreeAreNodesOfIt) {
  // Each piece must be a subtree of the tree over all leaves, for every cut. Its width (before its
  // end is cut) is a power of two that divides its begin.
  for (uint32_t leaves = 1; leaves <= 8; ++leaves) {
    for (uint32_t begin = 0; begin <= leaves; ++begin) {
      for (uint32_t end = begin; end <= leaves; ++end) {
        uint32_t at = begin;
        for (UnitRange piece : tree_pieces(begin, end, leaves)) {
          EXPECT_EQ(piece.begin, at);
          uint32_t width = 1;
          while (width < piece.size()) width *= 2;
          EXPECT_EQ(piece.begin % width, 0u);
          EXPECT_TRUE(piece.size() == width || piece.end == leaves);
          at = piece.end;
        }
        EXPECT_EQ(at, end);
      }
    }
  }
}

}  // namespace
}  // namespace hearth
