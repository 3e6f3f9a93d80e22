#include "engine/shard_shares.h"

#include <gtest/gtest.h>

#include <numeric>

namespace hearth {
namespace {

using Shares = std::vector<uint32_t>;

Shares by_threads(const Machine& machine, const Placement& placement) {
  Shares shards;
  for (const Seat& seat : placement.seats) shards.push_back(seat.node);
  return shares_by_threads(machine, placement, shards, static_cast<uint32_t>(machine.nodes.size()));
}

TEST(ShardShares, FollowTheThreads) {
  Machine machine = Machine::from_synthetic("numa:2 core:8 pu:1");
  EXPECT_EQ(by_threads(machine, place_threads(machine)), (Shares{1, 1})) << "8 and 7";
  machine.allowed_pus = {0, 1, 2, 3, 8, 9};
  EXPECT_EQ(by_threads(machine, place_threads(machine)), (Shares{8, 4}));
}

TEST(ShardShares, SlowCoresCountHalf) {
  Machine machine = Machine::from_synthetic("numa:2 core:2 pu:1");
  machine.kinds = {{"slow", {2, 3}}, {"fast", {0, 1}}};
  machine.cores[0].kind = machine.cores[1].kind = 1;
  EXPECT_EQ(by_threads(machine, place_threads(machine)), (Shares{4, 2}));
}

// The parts of `bytes` in proportion to the shares.
std::vector<double> parts_of(const Shares& shares, uint64_t bytes) {
  double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  std::vector<double> parts;
  for (uint32_t share : shares) parts.push_back(share / sum * static_cast<double>(bytes));
  return parts;
}

TEST(ShardShares, MoveToWhereThereIsRoom) {
  std::vector<uint64_t> bytes = {250, 250, 250, 250};
  EXPECT_EQ(shares_that_fit({1, 1, 1, 1}, bytes, std::vector<uint64_t>{250, 400, 300, 251}),
            (Shares{1, 1, 1, 1}));
  EXPECT_EQ(shares_that_fit({1, 1, 1, 1}, bytes, std::vector<uint64_t>{100, 100, 100, 600}),
            (Shares{1, 1, 1, 1}))
      << "no room for all";
  std::vector<double> one = parts_of(
      shares_that_fit({1, 1, 1, 1}, bytes, std::vector<uint64_t>{100, 900, 900, 900}), 1000);
  EXPECT_NEAR(one[0], 100, 0.1);
  for (size_t s : {1, 2, 3}) EXPECT_NEAR(one[s], 300, 0.1);
  // The second node is full only once a part of the first node's shard has moved to it.
  std::vector<double> two =
      parts_of(shares_that_fit({1, 1, 1, 1}, bytes, std::vector<uint64_t>{0, 260, 900, 900}), 1000);
  EXPECT_EQ(two[0], 0);
  EXPECT_NEAR(two[1], 260, 0.1);
  EXPECT_NEAR(two[2], 370, 0.1);
  EXPECT_NEAR(two[3], 370, 0.1);
}

}  // namespace
}  // namespace hearth
