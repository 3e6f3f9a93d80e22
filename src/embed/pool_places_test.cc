#include "embed/pool_places.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace hearth {
namespace {

// Returns 2 packages of 2 nodes of 8 cores of 2 hyper-threads, numbered like hwloc does: core c has
// PUs 2c and 2c + 1.
Machine big() { return Machine::from_synthetic("pack:2 numa:2 core:8 pu:2"); }

TEST(PoolPlaces, APoolForEveryNodeLeavesTheLowestCore) {
  std::vector<PoolPlace> places = place_pools(big(), {}, PoolSplit::kNodes);
  ASSERT_EQ(places.size(), 4u);
  for (uint32_t n = 0; n < 4; ++n) {
    EXPECT_EQ(places[n].nodes, std::vector<uint32_t>{n});
    EXPECT_EQ(places[n].threads, n == 0 ? 7u : 8u);
    EXPECT_EQ(places[n].pus.front(), n == 0 ? 2u : n * 16);
    EXPECT_EQ(places[n].pus.back(), n * 16 + 15);
  }
}

TEST(PoolPlaces, CoresAreTakenFromTheHighestDown) {
  std::vector<PoolPlace> places = place_pools(big(), {.threads = 11}, PoolSplit::kNodes);
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places[0].nodes, std::vector<uint32_t>{2});
  EXPECT_EQ(places[0].threads, 3u);
  EXPECT_EQ(places[0].pus, (std::vector<uint32_t>{42, 43, 44, 45, 46, 47}));
  EXPECT_EQ(places[1].nodes, std::vector<uint32_t>{3});
  EXPECT_EQ(places[1].threads, 8u);
}

TEST(PoolPlaces, OnePoolTakesTheSameCores) {
  std::vector<PoolPlace> places = place_pools(big(), {.threads = 11}, PoolSplit::kOne);
  ASSERT_EQ(places.size(), 1u);
  EXPECT_EQ(places[0].nodes, (std::vector<uint32_t>{2, 3}));
  EXPECT_EQ(places[0].threads, 11u);
  EXPECT_EQ(places[0].pus.size(), 22u);
}

TEST(PoolPlaces, UsesAllowedPusOnly) {
  PlacementOptions where{.nodes = {1}, .pus = {16, 18, 19, 40}};
  std::vector<PoolPlace> places = place_pools(big(), where, PoolSplit::kNodes);
  ASSERT_EQ(places.size(), 1u);
  EXPECT_EQ(places[0].threads, 2u);
  EXPECT_EQ(places[0].pus, (std::vector<uint32_t>{16, 18, 19}));
  EXPECT_THROW(place_pools(big(), {.nodes = {4}}, PoolSplit::kNodes), Error);
  EXPECT_THROW(place_pools(big(), {.nodes = {0}, .pus = {40}}, PoolSplit::kNodes), Error);
}

TEST(PoolPlaces, MoreThreadsThanCoresAreDealtOut) {
  std::vector<PoolPlace> places = place_pools(big(), {.threads = 35}, PoolSplit::kNodes);
  ASSERT_EQ(places.size(), 4u);
  uint32_t threads = 0;
  for (const PoolPlace& place : places) threads += place.threads;
  EXPECT_EQ(threads, 35u);
}

TEST(PoolPlaces, InventedNodesShareCpus) {
  std::vector<PoolPlace> places = place_pools(Machine::invented(4, 2), {}, PoolSplit::kNodes);
  ASSERT_EQ(places.size(), 4u);
  EXPECT_EQ(places[3].threads, 2u);
}

}  // namespace
}  // namespace hearth
