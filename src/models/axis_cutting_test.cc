#include "models/axis_cutting.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace hearth {
namespace {

struct HeadShape {
  uint32_t kv_heads, group_size, head_dim;
  uint32_t heads() const { return kv_heads * group_size; }
};

HeadShape shape(uint32_t kv_heads, uint32_t group_size, uint32_t head_dim = 128) {
  return {kv_heads, group_size, head_dim};
}

hearth::CutHeads cut_shape(const HeadShape& shape, const std::vector<uint32_t>& shares) {
  return cut_heads(shape.heads(), shape.kv_heads, shape.head_dim, shares);
}

// Query heads and KV heads of every shard.
struct Cut {
  std::vector<uint32_t> heads, kv;
  bool operator==(const Cut&) const = default;
};
void PrintTo(const Cut& cut, std::ostream* out) {
  *out << testing::PrintToString(cut.heads) << testing::PrintToString(cut.kv);
}

Cut cut_over(const HeadShape& config, const std::vector<uint32_t>& shares) {
  hearth::CutHeads axes = cut_shape(config, shares);
  Cut cut;
  for (uint32_t s = 0; s < shares.size(); ++s) {
    cut.heads.push_back(axes.heads.cuts.shard(s).size() * axes.heads.unit_items);
    cut.kv.push_back(axes.kv.cuts.shard(s).size());
  }
  return cut;
}
Cut cut_evenly(const HeadShape& config, uint32_t shards) {
  return cut_over(config, std::vector<uint32_t>(shards, 1));
}

TEST(CutHeads, KvHeadsStayWholeWhereThatIsAboutEven) {
  EXPECT_EQ(cut_evenly(shape(8, 4), 4), (Cut{{8, 8, 8, 8}, {2, 2, 2, 2}}));
  EXPECT_EQ(cut_evenly(shape(8, 4), 3), (Cut{{12, 8, 12}, {3, 2, 3}}));
  EXPECT_EQ(cut_evenly(shape(5, 4), 2), (Cut{{12, 8}, {3, 2}}));
}

TEST(CutHeads, ShardsShareKvHeadsWhereTheseAreFewer) {
  EXPECT_EQ(cut_evenly(shape(2, 4), 4), (Cut{{2, 2, 2, 2}, {1, 1, 1, 1}}));
  EXPECT_EQ(cut_evenly(shape(1, 6), 4), (Cut{{2, 2, 0, 2}, {1, 1, 0, 1}}));
  EXPECT_EQ(cut_evenly(shape(4, 7), 8), (Cut{{4, 3, 4, 3, 4, 3, 4, 3}, {1, 1, 1, 1, 1, 1, 1, 1}}));
  EXPECT_EQ(cut_evenly(shape(2, 16), 3), (Cut{{12, 8, 12}, {1, 2, 1}}));
}

TEST(CutHeads, ShardsShareKvHeadsThatDoNotDivide) {
  EXPECT_EQ(cut_evenly(shape(3, 4), 2), (Cut{{6, 6}, {2, 2}}));
  EXPECT_EQ(cut_evenly(shape(8, 4), 6), (Cut{{6, 4, 6, 6, 4, 6}, {2, 2, 2, 2, 2, 2}}));
}

// The cut stays coarse: a finer one would give the middle shard copies of both KV heads, and so as
// much work as one whole KV head with its query heads.
TEST(CutHeads, DoesNotCutHeadsWhereCopiesCostAsMuch) {
  EXPECT_EQ(cut_evenly(shape(2, 4), 3), (Cut{{4, 0, 4}, {1, 0, 1}}));
  EXPECT_EQ(cut_evenly(shape(3, 4), 4), (Cut{{4, 4, 0, 4}, {1, 1, 0, 1}}));
}

TEST(CutHeads, MhaAndBlocksLeaveNothingToCut) {
  EXPECT_EQ(cut_evenly(shape(2, 1), 4), (Cut{{1, 0, 1, 0}, {1, 0, 1, 0}}));
  // 4 query heads of 40 columns are 160; only cuts at 0 and 160 fall on both heads and blocks of
  // 32.
  EXPECT_EQ(cut_evenly(shape(1, 4, 40), 2), (Cut{{4, 0}, {1, 0}}));
  // Two heads of 80 columns are 5 blocks of 32.
  EXPECT_EQ(cut_evenly(shape(1, 7, 80), 4), (Cut{{2, 2, 2, 1}, {1, 1, 1, 1}}));
}

TEST(CutHeads, FollowsShares) {
  // A cut finer than KV heads gains nothing: (8 + 2 * 2) / 3 units of work for a share are as many
  // as (2 + 2 * 1) / 1.
  EXPECT_EQ(cut_over(shape(2, 4), {3, 1}), (Cut{{8, 0}, {2, 0}}));
  EXPECT_EQ(cut_over(shape(2, 16), {3, 1}), (Cut{{24, 8}, {2, 1}}));
  EXPECT_EQ(cut_over(shape(2, 4), {1, 0, 1}), (Cut{{4, 0, 4}, {1, 0, 1}}));
  EXPECT_EQ(cut_over(shape(1, 8), {5, 3}), (Cut{{6, 2}, {1, 1}}));
  EXPECT_EQ(cut_over(shape(8, 4), {3, 1}), (Cut{{24, 8}, {6, 2}}));
}

UnitRange kv_heads_of(UnitRange units, const hearth::CutHeads& axes, const HeadShape& config) {
  if (units.size() == 0) return {};
  return {units.begin * axes.heads.unit_items / config.group_size,
          (units.end * axes.heads.unit_items - 1) / config.group_size + 1};
}

// Tests random models and shares. Each query head must lie on one shard, blocks must be whole, each
// part of a shard must have its query heads' KV heads, and parts of one shard share no KV head.
TEST(CutHeads, RandomModelsAndShares) {
  std::mt19937 random(11);
  constexpr uint32_t kDims[] = {16, 20, 24, 32, 40, 64, 80, 128};
  for (int round = 0; round < 2000; ++round) {
    HeadShape config = shape(1 + random() % 12, 1 + random() % 12, kDims[random() % 8]);
    std::vector<uint32_t> shares(1 + random() % 9);
    for (uint32_t& share : shares) share = random() % 5;
    shares[random() % shares.size()] += 1;
    hearth::CutHeads axes = cut_shape(config, shares);
    EXPECT_EQ(axes.heads.cuts.units() * axes.heads.unit_items, config.heads());
    EXPECT_EQ(axes.kv.cuts.units(), config.kv_heads);
    uint32_t at = 0;
    for (uint32_t s = 0; s < shares.size(); ++s) {
      EXPECT_EQ(axes.heads.cuts.shard(s).begin, at);
      at = axes.heads.cuts.shard(s).end;
      EXPECT_LE(axes.heads.cuts.segments(s).size(), kSegments);
      for (UnitRange segment : axes.heads.cuts.segments(s)) {
        EXPECT_EQ(segment.begin * axes.heads.unit_items * config.head_dim % kBlock, 0u);
      }
      for (uint32_t parts : {1u, 2u, 3u, 8u}) {
        uint32_t kv_at = axes.kv.cuts.shard(s).begin;
        for (uint32_t part = 0; part < parts; ++part) {
          UnitRange kv = axes.kv.cuts.part_units(s, part, parts);
          UnitRange needed = kv_heads_of(axes.heads.cuts.part_units(s, part, parts), axes, config);
          EXPECT_EQ(kv.size(), needed.size());
          if (kv.size() == 0) continue;
          EXPECT_EQ(kv, needed);
          EXPECT_EQ(kv.begin, kv_at);
          kv_at = kv.end;
        }
        EXPECT_EQ(kv_at, axes.kv.cuts.shard(s).end);
      }
    }
    EXPECT_EQ(at, axes.heads.cuts.units());
  }
}

}  // namespace
}  // namespace hearth
