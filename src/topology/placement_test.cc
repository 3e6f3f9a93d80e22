#include "topology/placement.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"

namespace hearth {
namespace {

std::vector<uint32_t> pus_of(const Placement& placement) {
  std::vector<uint32_t> pus;
  for (const Seat& seat : placement.seats) pus.push_back(seat.pu);
  return pus;
}

std::vector<uint32_t> counts_by_node(const Placement& placement, const Machine& machine) {
  std::vector<uint32_t> counts(machine.nodes.size(), 0);
  for (const auto& part : placement.by_node()) counts[part.node] = part.count;
  return counts;
}

TEST(PlacementTest, OneThreadPerCoreFirst) {
  Machine machine = Machine::from_synthetic("pack:1 l3:1 core:3 pu:2");
  EXPECT_EQ(default_thread_count(machine), 3u);
  EXPECT_EQ(pus_of(place_threads(machine)), (std::vector<uint32_t>{0, 2, 4}));
  Placement four = place_threads(machine, {.threads = 4});
  EXPECT_EQ(pus_of(four), (std::vector<uint32_t>{0, 2, 4, 1}));
  EXPECT_FALSE(four.oversubscribed);
}

TEST(PlacementTest, SpreadGivesEveryNodeTheSame) {
  Machine machine = Machine::from_synthetic("pack:2 numa:4 l3:4 core:4 pu:2");
  Placement all = place_threads(machine, {.threads = 128});
  EXPECT_EQ(counts_by_node(all, machine), std::vector<uint32_t>(8, 16));
  Placement some = place_threads(machine, {.threads = 18});
  EXPECT_EQ(counts_by_node(some, machine), (std::vector<uint32_t>{3, 3, 2, 2, 2, 2, 2, 2}));
  // Members of a node are neighbours, in node order.
  for (size_t i = 1; i < some.seats.size(); ++i) {
    EXPECT_LE(some.seats[i - 1].node, some.seats[i].node);
  }
}

TEST(PlacementTest, CompactFillsNodes) {
  Machine machine = Machine::from_synthetic("pack:4 numa:2 l3:1 core:24 pu:1");
  Placement placement = place_threads(machine, {.threads = 30, .policy = NodePolicy::kCompact});
  EXPECT_EQ(counts_by_node(placement, machine), (std::vector<uint32_t>{24, 6, 0, 0, 0, 0, 0, 0}));
}

TEST(PlacementTest, SpreadsOverLlcsWithinANode) {
  Machine machine = Machine::from_synthetic("numa:1 l3:4 core:4 pu:1");
  Placement placement = place_threads(machine, {.threads = 4});
  std::set<uint32_t> llcs;
  for (const Seat& seat : placement.seats) llcs.insert(machine.cores[seat.core].llc);
  EXPECT_EQ(llcs.size(), 4u);
}

TEST(PlacementTest, UsesRequestedNodesOnly) {
  Machine machine = Machine::from_synthetic("pack:2 numa:2 core:4 pu:1");
  Placement placement = place_threads(machine, {.nodes = {3, 1, 3}});
  EXPECT_EQ(counts_by_node(placement, machine), (std::vector<uint32_t>{0, 4, 0, 4}));
  EXPECT_EQ(placement.by_node(), (std::vector<Placement::NodeSeats>{{1, 0, 4}, {3, 4, 4}}));
  EXPECT_THROW(place_threads(machine, {.nodes = {4}}), Error);
}

TEST(PlacementTest, UsesAllowedPusOnly) {
  Machine machine = Machine::from_synthetic("numa:2 core:4 pu:2");
  machine.allowed_pus = {1, 2, 3, 12};
  EXPECT_EQ(default_thread_count(machine), 3u);
  EXPECT_EQ(pus_of(place_threads(machine)), (std::vector<uint32_t>{1, 2, 12}));
  EXPECT_EQ(pus_of(place_threads(machine, {.threads = 4})), (std::vector<uint32_t>{1, 2, 3, 12}));
  EXPECT_EQ(pus_of(place_threads(machine, {.nodes = {1}})), (std::vector<uint32_t>{12}));
  machine.allowed_pus = {1};
  EXPECT_THROW(place_threads(machine, {.nodes = {1}}), Error);
}

TEST(PlacementTest, UsesRequestedPusOnly) {
  Machine machine = Machine::from_synthetic("numa:2 core:4 pu:2");
  EXPECT_EQ(pus_of(place_threads(machine, {.pus = {3, 2, 9, 12}})),
            (std::vector<uint32_t>{2, 9, 12}));
  EXPECT_EQ(pus_of(place_threads(machine, {.threads = 4, .pus = {3, 2, 9, 12}})),
            (std::vector<uint32_t>{2, 3, 9, 12}));
  EXPECT_EQ(pus_of(place_threads(machine, {.nodes = {1}, .pus = {3, 2, 9, 12}})),
            (std::vector<uint32_t>{9, 12}));
  EXPECT_THROW(place_threads(machine, {.nodes = {1}, .pus = {3, 2}}), Error);
  EXPECT_THROW(place_threads(machine, {.pus = {3, 16}}), Error);
  machine.allowed_pus = {1, 2, 3};
  EXPECT_THROW(place_threads(machine, {.pus = {0}}), Error);
}

TEST(PlacementTest, FromEightCoresUpOneIsSpared) {
  Machine seven = Machine::from_synthetic("core:7 pu:2");
  EXPECT_EQ(default_thread_count(seven), 7u);
  EXPECT_EQ(spare_pus(seven, place_threads(seven)), std::vector<uint32_t>{});
  Machine eight = Machine::from_synthetic("core:8 pu:2");
  EXPECT_EQ(default_thread_count(eight), 7u);
  EXPECT_EQ(spare_pus(eight, place_threads(eight)), (std::vector<uint32_t>{14, 15}));
  EXPECT_EQ(place_threads(eight, {.threads = 8}).seats.size(), 8u);
  Machine two = Machine::from_synthetic("numa:2 core:8 pu:1");
  EXPECT_EQ(default_thread_count(two), 15u);
  EXPECT_EQ(default_thread_count(two, {.nodes = {0}}), 8u) << "the other node's cores are free";
  EXPECT_EQ(default_thread_count(two, {.pus = {0, 1, 2, 3, 4, 5, 6, 7, 8}}), 9u);
}

TEST(PlacementTest, UnequalNodesFillUp) {
  Machine machine = Machine::from_synthetic("numa:2 core:4 pu:1");
  machine.allowed_pus = {0, 4, 5, 6, 7};
  EXPECT_EQ(counts_by_node(place_threads(machine), machine), (std::vector<uint32_t>{1, 4}));
}

TEST(PlacementTest, QuotaCapsTheDefaultOnly) {
  Machine machine = Machine::from_synthetic("core:16 pu:2");
  machine.cpu_quota = 2.5;
  EXPECT_EQ(default_thread_count(machine), 3u);
  EXPECT_EQ(place_threads(machine, {.threads = 8}).seats.size(), 8u);
  machine.cpu_quota = 0.1;
  EXPECT_EQ(default_thread_count(machine), 1u);
  machine.cpu_quota = 64.0;
  EXPECT_EQ(default_thread_count(machine), 15u);
}

TEST(PlacementTest, FasterCoresFirstThenSlowerThenSiblings) {
  Machine machine = Machine::from_xml(HEARTH_TOPOLOGY_TESTDATA "/hybrid_memoryless.xml");
  EXPECT_EQ(pus_of(place_threads(machine, {.threads = 3})), (std::vector<uint32_t>{0, 2, 4}));
  EXPECT_EQ(pus_of(place_threads(machine, {.threads = 8})),
            (std::vector<uint32_t>{0, 2, 4, 6, 8, 10, 12, 14}));
  EXPECT_EQ(pus_of(place_threads(machine, {.threads = 9})),
            (std::vector<uint32_t>{0, 2, 4, 6, 1, 8, 10, 12, 14}));
  EXPECT_THROW(place_threads(machine, {.nodes = {2}}), Error) << "a node of memory only";
}

TEST(PlacementTest, MoreThreadsThanPusShareThemInTurn) {
  Machine machine = Machine::from_synthetic("core:2 pu:2");
  Placement placement = place_threads(machine, {.threads = 10});
  EXPECT_EQ(pus_of(placement), (std::vector<uint32_t>{0, 2, 1, 3, 0, 2, 1, 3, 0, 2}));
  EXPECT_TRUE(placement.oversubscribed);
}

TEST(PlacementTest, InventedMachineHasASeatPerCore) {
  Machine machine = Machine::invented(4, 2);
  Placement placement = place_threads(machine, {.threads = 8});
  EXPECT_EQ(counts_by_node(placement, machine), std::vector<uint32_t>(4, 2));
}

}  // namespace
}  // namespace hearth
