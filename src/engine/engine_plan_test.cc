#include "engine/engine_plan.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/engine_options.h"

namespace hearth {
namespace {

using Numbers = std::vector<uint32_t>;

Numbers sizes_of(const Plan& plan) {
  Numbers sizes;
  for (const PlanGroup& group : plan.groups) {
    sizes.push_back(group.size());
  }
  return sizes;
}

// Expects that every thread works on a shard on its own node, or on the nearest node with memory.
void expect_all_at_home(const Machine& machine, const EnginePlan& plan) {
  for (size_t m = 0; m < plan.placement.seats.size(); ++m) {
    uint32_t memory = machine.memory_node(plan.placement.seats[m].node);
    EXPECT_EQ(plan.shard_nodes[plan.decode.member_shards[m]], memory) << m;
  }
}

TEST(EnginePlan, OneNode) {
  Machine machine = Machine::from_synthetic("numa:1 core:6 pu:2");
  EnginePlan plan = plan_engine(machine, {});
  EXPECT_EQ(plan.shard_nodes, Numbers{0});
  EXPECT_EQ(sizes_of(plan.decode), Numbers{6});
}

// Two EPYC 7H12 as NPS4: eight nodes of four LLCs with four cores.
TEST(EnginePlan, EightNodesOfTwoPackages) {
  Machine machine = Machine::from_synthetic("pack:2 numa:4 l3:4 core:4 pu:2");
  EnginePlan plan = plan_engine(machine, {});
  EXPECT_EQ(plan.shard_nodes, (Numbers{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(plan.shares, Numbers(8, 1));
  EXPECT_EQ(sizes_of(plan.decode), (Numbers{16, 16, 16, 16, 16, 16, 16, 15}));
  expect_all_at_home(machine, plan);
  EngineOptions by_package;
  by_package.prefill_groups = 2;
  EnginePlan two = plan_engine(machine, by_package);
  EXPECT_EQ(sizes_of(two.prefill), (Numbers{64, 63}));
  EXPECT_EQ(two.prefill.groups[1].share, (GroupShare{4, 8, 0, 1}));
  EXPECT_EQ(two.decode.group_count(), 8u);
  expect_all_at_home(machine, two);
}

// Four Kunpeng 920 with eight nodes of 24 cores; four shards: neighbours share one.
TEST(EnginePlan, FewerShardsThanNodes) {
  Machine machine = Machine::from_synthetic("pack:4 numa:2 l3:1 core:24 pu:1");
  EngineOptions options;
  options.shards = 4;
  EnginePlan plan = plan_engine(machine, options);
  EXPECT_EQ(plan.shard_nodes, (Numbers{0, 2, 4, 6}));
  EXPECT_EQ(sizes_of(plan.decode), (Numbers{48, 48, 48, 47}));
  for (size_t m = 0; m < plan.placement.seats.size(); ++m) {
    EXPECT_EQ(plan.decode.member_shards[m], plan.placement.seats[m].node / 2);
  }
  options.shards = 3;
  EXPECT_EQ(plan_engine(machine, options).shard_nodes, (Numbers{0, 2, 5}));
  options.shards = 9;
  EXPECT_THROW(plan_engine(machine, options), Error);
}

// Fast and slow cores, and a node without memory, whose threads work on the nearest node's shard.
TEST(EnginePlan, NodeWithoutMemory) {
  Machine machine = Machine::from_synthetic("numa:3 core:2 pu:1");
  machine.distances = {{10, 20, 40}, {20, 10, 20}, {40, 20, 10}};
  machine.nodes[0].memory_bytes = machine.nodes[2].memory_bytes = uint64_t{1} << 30;
  machine.nodes[1].memory_bytes = 0;
  EnginePlan plan = plan_engine(machine, {});
  EXPECT_EQ(plan.shard_nodes, (Numbers{0, 2}));
  EXPECT_EQ(plan.decode.member_shards, (Numbers{0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(plan.shares, (Numbers{8, 4}));
  expect_all_at_home(machine, plan);
  machine.nodes[0].memory_allowed = false;  // cpuset.mems leaves it out
  plan = plan_engine(machine, {});
  EXPECT_EQ(plan.shard_nodes, Numbers{2});
}

// A node's memory may serve threads of a distant node before those of its neighbour; seats are in
// the order of shards.
TEST(EnginePlan, SeatsStandInTheOrderOfShards) {
  Machine machine = Machine::from_synthetic("numa:3 core:2 pu:1");
  machine.distances = {{10, 40, 20}, {40, 10, 40}, {20, 40, 10}};
  for (NumaNode& node : machine.nodes) node.memory_bytes = uint64_t{1} << 30;
  machine.nodes[0].memory_bytes = 0;
  EnginePlan plan = plan_engine(machine, {});
  EXPECT_EQ(plan.shard_nodes, (Numbers{1, 2}));
  EXPECT_EQ(plan.placement.pus(), (Numbers{2, 3, 0, 1, 4, 5}));
  EXPECT_EQ(plan.decode.member_shards, (Numbers{0, 0, 1, 1, 1, 1}));
  expect_all_at_home(machine, plan);
}

TEST(EnginePlan, HybridWithACpusetThatCutsANode) {
  Machine machine = Machine::from_xml(HEARTH_TOPOLOGY_TESTDATA "/hybrid_memoryless.xml");
  EnginePlan whole = plan_engine(machine, {});
  expect_all_at_home(machine, whole);
  machine.allowed_pus = {0, 8, 10};
  EnginePlan cut = plan_engine(machine, {});
  EXPECT_EQ(cut.placement.pus(), (Numbers{0, 8, 10}));
  expect_all_at_home(machine, cut);
}

TEST(EnginePlan, UnevenCpuset) {
  Machine machine = Machine::from_synthetic("numa:2 core:4 pu:1");
  machine.allowed_pus = {0, 1, 2, 3, 7};
  EnginePlan plan = plan_engine(machine, {});
  EXPECT_EQ(plan.shares, (Numbers{8, 2}));
  EXPECT_EQ(sizes_of(plan.decode), (Numbers{4, 1}));
  expect_all_at_home(machine, plan);
  EngineOptions three;
  three.decode_groups = 3;
  EXPECT_EQ(sizes_of(plan_engine(machine, three).decode), (Numbers{2, 2, 1}));
  EngineOptions chosen;
  chosen.nodes = {1};
  EXPECT_EQ(plan_engine(machine, chosen).shard_nodes, Numbers{1});
  chosen.nodes = {};
  chosen.pus = {1, 2};
  EXPECT_EQ(plan_engine(machine, chosen).placement.pus(), (Numbers{1, 2}));
}

bool same(const EnginePlan& a, const EnginePlan& b) {
  return a.placement.seats == b.placement.seats && a.shard_nodes == b.shard_nodes &&
         a.shares == b.shares && a.prefill == b.prefill && a.decode == b.decode &&
         a.stream == b.stream;
}

TEST(EnginePlan, TextRoundTrips) {
  Machine machine = Machine::from_synthetic("pack:2 numa:2 core:3 pu:2");
  machine.allowed_pus.erase(machine.allowed_pus.begin(), machine.allowed_pus.begin() + 3);
  EngineOptions options;
  options.prefill_groups = 2;
  EnginePlan plan = plan_engine(machine, options);
  std::string text = engine_plan_text(machine, plan);
  EXPECT_TRUE(same(parse_engine_plan(text, machine), plan)) << text;
  EngineOptions saved;
  saved.plan = plan;
  saved.threads = 1;
  EXPECT_TRUE(same(plan_engine(machine, saved), plan)) << "a plan says all";
  saved.plan->shares.clear();
  EXPECT_THROW(plan_engine(machine, saved), Error);
  plan.stream =
      StreamChoice{.rows = 8192, .kept = 52, .berths = 2, .threshold = 251, .experts = 64};
  text = engine_plan_text(machine, plan);
  EXPECT_TRUE(
      text.ends_with("hearth-stream-plan 2\nrows 8192\nkept 52\nberths 2\nexperts 64\n"
                     "threshold 251\n"))
      << text;
  EXPECT_TRUE(same(parse_engine_plan(text, machine), plan)) << text;
}

TEST(EnginePlan, OldVersionsAreRead) {
  const Machine machine = Machine::from_synthetic("numa:2 core:1 pu:1");
  const EnginePlan plan = plan_engine(machine, {});
  std::string text = engine_plan_text(machine, plan);
  const std::string head = "hearth-engine-plan 3";
  ASSERT_TRUE(text.starts_with(head));
  text.replace(0, head.size(), "hearth-engine-plan 2");
  EXPECT_TRUE(same(parse_engine_plan(text, machine), plan));
  // These plans have no part on streaming.
  const std::string stream = "hearth-stream-plan 1\nrows 64\nkept 0\nberths 2\nthreshold 0\n";
  EXPECT_THROW(parse_engine_plan(text + stream, machine), Error);
}

TEST(EnginePlan, RefusesStreamingThatCannotBe) {
  const Machine machine = Machine::from_synthetic("numa:2 core:1 pu:1");
  const std::string text = engine_plan_text(machine, plan_engine(machine, {}));
  const std::string head = "hearth-stream-plan 1\n", with_ring = "hearth-stream-plan 2\n";
  const std::string lines = "threshold 7\nrows 64\n\nkept 0\nberths 2\n";
  EXPECT_EQ(parse_engine_plan(text + head + lines, machine).stream, (StreamChoice{64, 0, 2, 7}));
  EXPECT_EQ(parse_engine_plan(text + with_ring + lines + "experts 5\n", machine).stream,
            (StreamChoice{64, 0, 2, 7, 5}));
  for (const char* bad : {"", "experts 1\n", "experts 65537\n", "experts\n"}) {
    EXPECT_THROW(parse_engine_plan(text + with_ring + lines + bad, machine), Error) << bad;
  }
  EXPECT_THROW(parse_engine_plan(text + head + lines + "experts 5\n", machine), Error);
  for (const char* bad :
       {"", "rows 64\nkept 0\nberths 2\n", "rows 63\nkept 0\nberths 2\nthreshold 0\n",
        "rows 65537\nkept 0\nberths 2\nthreshold 0\n",
        "rows 64\nkept 0\nberths 1025\nthreshold 0\n", "rows 64 7\nkept 0\nberths 2\nthreshold 0\n",
        "rows\nkept 0\nberths 2\nthreshold 0\n",
        "rows 64\nrows 64\nkept 0\nberths 2\nthreshold 0\n",
        "rows 64\nkept 0\nberths 2\nthreshold 0\ncolour 7\n"}) {
    EXPECT_THROW(parse_engine_plan(text + head + bad, machine), Error) << bad;
  }
}

TEST(EnginePlan, RefusesTextsThatDoNotFit) {
  Machine machine = Machine::from_synthetic("numa:2 core:1 pu:1");
  EnginePlan plan = plan_engine(machine, {});
  std::string good = engine_plan_text(machine, plan);
  EXPECT_NO_THROW(parse_engine_plan(good, machine));
  auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  for (const std::string& bad :
       {std::string(), with("hearth-engine-plan 3", "hearth-engine-plan 4"),
        with("thread_pus 0 1", "thread_pus 0 2"), with("thread_pus 0 1", "thread_pus 0"),
        with("shard_nodes 0 1", "shard_nodes 0 2"), with("shard_nodes 0 1", "shard_nodes 0"),
        with("shares 1 1", "shares 0 0"), with("shares 1 1", "shares 1"),
        with("shares 1 1", "colour blue"), with("phase prefill", "phase decode"),
        with("member_shards 0 1", "member_shards 0 0"), with("hearth-plan 2", "")}) {
    EXPECT_THROW(parse_engine_plan(bad, machine), Error) << bad;
  }
  machine.allowed_pus = {0};
  EXPECT_THROW(parse_engine_plan(good, machine), Error) << "a CPU that is not allowed";
}

}  // namespace
}  // namespace hearth
