#include "cost/cost_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "models/test_source.h"
#include "tensor/pack_spec.h"

namespace hearth {
namespace {

// The machine of ArcLight (section 4), whose table 1 has its bandwidths.
const char* const kKunpeng = "pack:2 numa:2 l3:1(size=50331648) core:48 pu:1";

BandwidthTable kunpeng_table(const Machine& machine) {
  BandwidthTable table = assumed_bandwidth(machine);
  table.read = {{102e9, 26e9, 24e9, 23e9},
                {26e9, 103e9, 23e9, 22e9},
                {24e9, 23e9, 103e9, 26e9},
                {23e9, 22e9, 26e9, 101e9}};
  return table;
}

TestModel qwen3_4b_q4_0() { return TestModel(qwen3_4b_shape()); }

// Returns a plan with a thread a core, one shard a node and `groups` groups (0: one a node).
// `nodes` is as in PlacementOptions.
PlacedPlan plan_on(const Machine& machine, std::vector<uint32_t> nodes, uint32_t threads = 0,
                   uint32_t groups = 0, Phase phase = Phase::kDecode) {
  PlacedPlan plan;
  if (threads == 0 && nodes.empty()) threads = machine.allowed_core_count();
  plan.placement = place_threads(machine, {.threads = threads, .nodes = std::move(nodes)});
  for (const auto& seats : plan.placement.by_node()) plan.shard_nodes.push_back(seats.node);
  auto shards = static_cast<uint32_t>(plan.shard_nodes.size());
  plan.shares.assign(shards, 1);
  plan.plan = even_plan(phase, 512, shards, groups > 0 ? groups : shards,
                        static_cast<uint32_t>(plan.placement.seats.size()));
  return plan;
}

class Kunpeng : public testing::Test {
 protected:
  StepCost cost(const PlacedPlan& plan, const StepShape& step = {1, 256}) const {
    return predict_step(machine, table, model.spec(), plan, step);
  }
  double rate(const PlacedPlan& plan, const StepShape& step = {1, 256}) const {
    return cost(plan, step).tokens_per_second;
  }

  Machine machine = Machine::from_synthetic(kKunpeng);
  BandwidthTable table = kunpeng_table(machine);
  TestModel model = qwen3_4b_q4_0();
};

// ArcLight's figure 10 shows this.
TEST_F(Kunpeng, DecodeRisesWithTheThreadsOfANode) {
  double last = 0;
  for (uint32_t threads : {6u, 12u, 24u, 36u, 48u}) {
    double now = rate(plan_on(machine, {0}, threads));
    EXPECT_GT(now, last) << threads;
    last = now;
  }
  // The node's memory limits the rate.
  double limit = 102e9 / cost(plan_on(machine, {0})).weight_bytes;
  EXPECT_LT(last, limit);
  EXPECT_GT(last, limit / 2);
}

// ArcLight's figure 11 shows this.
TEST_F(Kunpeng, FourNodesOverTwoOverOne) {
  for (StepShape step : {StepShape{1, 15}, StepShape{1, 300}, StepShape{300, 0}}) {
    double one = rate(plan_on(machine, {0}), step), two = rate(plan_on(machine, {0, 1}), step);
    double four = rate(plan_on(machine, {}), step);
    EXPECT_GT(two, 1.3 * one);
    EXPECT_GT(four, 1.3 * two);
    EXPECT_LT(four, 4 * one);
  }
}

TEST_F(Kunpeng, AsynchronousOverLockstep) {
  for (auto nodes : {std::vector<uint32_t>{0, 1}, std::vector<uint32_t>{}}) {
    PlacedPlan async = plan_on(machine, nodes), lockstep = async;
    lockstep.plan.sync = GroupSync::kLockstep;
    EXPECT_GT(rate(async), rate(lockstep));
    EXPECT_EQ(cost(async).meetings, 2u * 36);
    EXPECT_EQ(cost(async).barriers, cost(lockstep).barriers);
    EXPECT_EQ(cost(lockstep).meetings, cost(lockstep).barriers);
  }
  // A single group waits for no other.
  PlacedPlan alone = plan_on(machine, {0}), same = alone;
  same.plan.sync = GroupSync::kLockstep;
  EXPECT_DOUBLE_EQ(rate(alone), rate(same));
  EXPECT_EQ(cost(alone).meetings, 0u);
}

// ArcLight gains so much over llama.cpp, whose weights lie wherever the system put them.
TEST_F(Kunpeng, PlacedWeightsOverUnplacedOnes) {
  for (uint32_t groups : {1u, 4u}) {
    PlacedPlan placed = plan_on(machine, {}, 0, groups), unplaced = placed;
    unplaced.placing = WeightPlacing::kUnplaced;
    EXPECT_GT(rate(placed), 1.46 * rate(unplaced)) << groups;
    EXPECT_GT(cost(unplaced).remote_bytes(), 2.9 * cost(unplaced).local_bytes());
    EXPECT_LT(cost(placed).remote_bytes(), 0.01 * cost(placed).local_bytes());
  }
}

// Reads by the threads of one node from all nodes' memory queue up at the node's one port.
TEST_F(Kunpeng, ReadsOfOneNodeQueueAtItsPort) {
  PlacedPlan plan = plan_on(machine, {0});
  plan.placing = WeightPlacing::kUnplaced;
  StepCost cost = this->cost(plan);
  double quarter = (cost.weight_bytes + cost.kv_bytes) / 4;
  double read = quarter * (1 / 102e9 + 1 / 26e9 + 1 / 24e9 + 1 / 23e9) / CostConstants{}.read_share;
  EXPECT_GT(cost.seconds, read);
  EXPECT_LT(cost.seconds, 1.05 * read);
}

TEST_F(Kunpeng, OneThreadAddsUpARow) {
  PlacedPlan plan = plan_on(machine, {});
  CostConstants slow;
  slow.row_element = 1e-6;
  double slower = predict_step(machine, table, model.spec(), plan, {1, 256}, slow).seconds;
  EXPECT_NEAR(slower - cost(plan).seconds, 2 * 36 * 2560 * 1e-6, 0.1 * slower);
  double shared = predict_step(machine, table, model.spec(), plan, {48, 0}, slow).seconds;
  EXPECT_NEAR(shared, slower, 0.2 * slower) << "a row for every thread of a group";
}

// Arithmetic limits prefill, so placing the weights gains less there than in decode (appendix A.2).
TEST_F(Kunpeng, PlacingGainsLessInPrefill) {
  PlacedPlan placed = plan_on(machine, {}), unplaced = placed;
  unplaced.placing = WeightPlacing::kUnplaced;
  double prefill = rate(placed, {300, 0}) / rate(unplaced, {300, 0});
  EXPECT_GE(prefill, 1);
  EXPECT_LT(prefill, 1.46);
}

TEST_F(Kunpeng, OneShardForAllNodesIsSlowerThanOneNodeAlone) {
  PlacedPlan plan = plan_on(machine, {});
  plan.shard_nodes = {0};
  plan.shares = {1};
  plan.plan = even_plan(Phase::kDecode, 16, 1, 1, 192);
  EXPECT_LT(rate(plan), rate(plan_on(machine, {0})));
  EXPECT_NEAR(cost(plan).remote_bytes(), 3 * cost(plan).local_bytes(), 3 * cost(plan).local_bytes())
      << "most is read from afar";
  EXPECT_GT(cost(plan).remote_bytes(), 0.3 * cost(plan).local_bytes());
}

// Fewer groups have barriers and activations across nodes; more groups have more partial sums.
TEST_F(Kunpeng, AGroupANodeIsTheBestPlan) {
  for (StepShape step : {StepShape{1, 256}, StepShape{512, 0}}) {
    double best = rate(plan_on(machine, {}), step);
    for (uint32_t groups : {1u, 2u, 8u, 16u}) {
      EXPECT_LT(rate(plan_on(machine, {}, 0, groups), step), best) << groups;
    }
  }
}

uint64_t packed(DType type, uint32_t rows, uint32_t k) {
  const PackSpec spec = pack_spec_for(type, rows, k);
  return spec.codes_bytes() + spec.scales_bytes();
}

// A step reads every matrix once, and every key and value that it sees, whatever the plan.
TEST_F(Kunpeng, BytesAndOperationsAreThoseOfTheModel) {
  uint64_t layer = packed(DType::kQ4_0, 4096 + 2 * 1024, 2560) + packed(DType::kQ4_0, 2560, 4096) +
                   packed(DType::kQ4_0, 2 * 9728, 2560) + packed(DType::kQ4_0, 2560, 9728);
  uint64_t head = packed(DType::kQ6_K, 151936, 2560);
  double matrix_ops = 2.0 * 2560 * (6144 + 4096 + 3 * 9728);
  for (uint32_t groups : {1u, 2u, 4u, 8u}) {
    StepCost cost = this->cost(plan_on(machine, {}, 0, groups), {2, 100});
    EXPECT_DOUBLE_EQ(cost.weight_bytes, static_cast<double>(36 * layer + head)) << groups;
    EXPECT_DOUBLE_EQ(cost.kv_bytes, 36.0 * 102 * 8 * 128 * 2 * 2) << groups;
    EXPECT_NEAR(cost.local_bytes() + cost.remote_bytes(),
                cost.weight_bytes + cost.kv_bytes + cost.activation_bytes + cost.embedding_bytes,
                1e4);
    // The two rows lie in different panels of 16 rows, and every group reads both panels.
    EXPECT_DOUBLE_EQ(cost.embedding_bytes,
                     2.0 * groups * static_cast<double>(packed(DType::kQ6_K, 16, 2560)));
    double all_ops = 36 * 2 * matrix_ops + 2.0 * 2560 * 151936;
    EXPECT_NEAR(cost.ops[static_cast<size_t>(ArithmeticUnit::kInt8Dot)] / all_ops, 1, 1e-12);
    EXPECT_DOUBLE_EQ(cost.ops[static_cast<size_t>(ArithmeticUnit::kF32Fma)],
                     36.0 * 32 * 4 * 128 * (101 + 102));
    EXPECT_EQ(cost.barriers, 36u * 8 + 1);
  }
}

// Compares the bytes that reduces move with the formula of graph/ops/reduce.h. In decode each of
// the four groups reads the sums of the three others, for all rows. In prefill only a row's owner
// reads them, and writes the row's norm to the three others. The model's last reduce has one row.
TEST_F(Kunpeng, ReducesMoveLessWhereRowsAreDealt) {
  constexpr double kRows = 2 * 36 * 100 - 99, kRowBytes = 3 * 2560;
  StepCost decode = cost(plan_on(machine, {}), {100, 0});
  StepCost prefill = cost(plan_on(machine, {}, 0, 0, Phase::kPrefill), {100, 0});
  EXPECT_NEAR(decode.activation_bytes, kRows * kRowBytes * 4 * 4, 1);
  EXPECT_NEAR(prefill.activation_bytes, kRows * kRowBytes * (4 + 1.375), 1);
  EXPECT_EQ(decode.meetings, 2u * 36);
  EXPECT_EQ(prefill.meetings, 4u * 36);
  EXPECT_EQ(decode.barriers, prefill.barriers);
  EXPECT_LT(prefill.seconds, decode.seconds);
}

TEST_F(Kunpeng, PrefillIsBoundByArithmetic) {
  StepCost cost = this->cost(plan_on(machine, {}), {512, 0});
  double peak = 192 * CostConstants{}.core_ops[static_cast<size_t>(ArithmeticUnit::kInt8Dot)];
  double least = cost.ops[static_cast<size_t>(ArithmeticUnit::kInt8Dot)] / peak;
  EXPECT_GT(cost.seconds, least);
  EXPECT_LT(cost.seconds, 3 * least);
  table.core_ops = {80e9, 160e9, 320e9, 160e9};
  EXPECT_LT(this->cost(plan_on(machine, {}), {512, 0}).seconds, 0.7 * cost.seconds);
  // Operations without a unit at this level count as fused multiply-adds.
  table.core_ops = {160e9, 0, 0, 0};
  StepCost floats = this->cost(plan_on(machine, {}), {512, 0});
  EXPECT_EQ(floats.ops[static_cast<size_t>(ArithmeticUnit::kInt8Dot)], 0);
  EXPECT_NEAR(floats.seconds, cost.seconds, 0.1 * cost.seconds);
}

TEST(CostModel, OneNode) {
  Machine machine = Machine::from_synthetic("pack:1 l3:1(size=33554432) core:8 pu:2");
  BandwidthTable table = assumed_bandwidth(machine);
  TestModel model = qwen3_4b_q4_0();
  PlacedPlan plan = plan_on(machine, {}), unplaced = plan;
  unplaced.placing = WeightPlacing::kUnplaced;
  StepCost cost = predict_step(machine, table, model.spec(), plan, {1, 256});
  EXPECT_EQ(cost.remote_bytes(), 0);
  EXPECT_EQ(cost.meetings, 0u);
  EXPECT_DOUBLE_EQ(cost.seconds,
                   predict_step(machine, table, model.spec(), unplaced, {1, 256}).seconds);
  double limit = 100e9 * 0.9 / (cost.weight_bytes + cost.kv_bytes);
  EXPECT_LT(cost.tokens_per_second, limit);
  EXPECT_GT(cost.tokens_per_second, 0.9 * limit);
  // Second hyper-threads add no arithmetic.
  double cores = predict_step(machine, table, model.spec(), plan, {512, 0}).seconds;
  double threads =
      predict_step(machine, table, model.spec(), plan_on(machine, {}, 16), {512, 0}).seconds;
  EXPECT_NEAR(threads / cores, 1, 0.02);
}

TEST(CostModel, TwoSocketsOfFourNodesEach) {
  Machine machine = Machine::from_synthetic("pack:2 numa:4 l3:4(size=16777216) core:4 pu:2");
  BandwidthTable table = assumed_bandwidth(machine);
  for (uint32_t i = 0; i < 8; ++i) {
    for (uint32_t j = 0; j < 8; ++j) {
      table.read[i][j] = i == j ? 40e9 : i / 4 == j / 4 ? 35e9 : 18e9;
    }
  }
  TestModel model = qwen3_4b_q4_0();
  auto rate = [&](const PlacedPlan& plan) {
    return predict_step(machine, table, model.spec(), plan, {1, 256}).tokens_per_second;
  };
  PlacedPlan eight = plan_on(machine, {}), wide = plan_on(machine, {}, 0, 2), unplaced = eight;
  unplaced.placing = WeightPlacing::kUnplaced;
  EXPECT_GT(rate(eight), rate(plan_on(machine, {0, 1, 2, 3})));
  EXPECT_GT(rate(plan_on(machine, {0, 1, 2, 3})), rate(plan_on(machine, {0})));
  EXPECT_GT(rate(eight), rate(unplaced));
  // Barriers of groups over several nodes are slower, but the groups' threads still read from their
  // own nodes.
  EXPECT_LT(rate(wide), rate(eight));
  EXPECT_GT(rate(wide), 0.8 * rate(eight));
}

// A machine of four fast cores on a node with memory and four slow ones on a node without. Shards
// lie on the node with memory only.
TEST(CostModel, NodesWithoutMemoryAndWithoutCores) {
  Machine machine = Machine::from_xml(HEARTH_TOPOLOGY_TESTDATA "/hybrid_memoryless.xml");
  BandwidthTable table = assumed_bandwidth(machine);
  TestModel model = qwen3_4b_q4_0();
  StepCost cost = predict_step(machine, table, model.spec(), plan_on(machine, {}), {1, 256});
  ASSERT_EQ(cost.nodes.size(), 2u);
  EXPECT_EQ(cost.nodes[1].local_bytes, 0);
  EXPECT_GT(cost.nodes[1].remote_bytes, 0.4 * cost.weight_bytes);
  EXPECT_LT(cost.nodes[0].remote_bytes, 0.01 * cost.nodes[0].local_bytes);
  EXPECT_TRUE(std::isfinite(cost.seconds));
  // A slow core computes half as much as a fast one in prefill.
  double all =
      predict_step(machine, table, model.spec(), plan_on(machine, {}, 0, 1), {512, 0}).seconds;
  double fast = predict_step(machine, table, model.spec(), plan_on(machine, {0}), {512, 0}).seconds;
  EXPECT_NEAR(fast / all, 1.5, 0.1);
}

// The even plan has shards for two and three threads, but the CPU set allows one core on the first
// node and four on the second. So one thread reads its shard from the other node.
TEST(CostModel, CpusetThatCutsANode) {
  Machine machine = Machine::from_synthetic("pack:2 numa:1 l3:1 core:4 pu:1");
  machine.allowed_pus = {0, 4, 5, 6, 7};
  BandwidthTable table = assumed_bandwidth(machine);
  EXPECT_EQ(table.threads, (std::vector<uint32_t>{1, 4}));
  TestModel model = qwen3_4b_q4_0();
  PlacedPlan plan = plan_on(machine, {});
  StepCost cost = predict_step(machine, table, model.spec(), plan, {1, 256});
  EXPECT_EQ(cost.nodes[0].threads, 1u);
  EXPECT_EQ(cost.nodes[1].threads, 4u);
  EXPECT_GT(cost.nodes[1].remote_bytes, 0.05 * cost.weight_bytes);
  EXPECT_GT(cost.tokens_per_second, 0);
  PlacedPlan fits = plan;
  fits.plan.groups[0].members = {0};
  fits.plan.groups[1].members = {1, 2, 3, 4};
  fits.plan.member_shards = {0, 1, 1, 1, 1};
  StepCost good = predict_step(machine, table, model.spec(), fits, {1, 256});
  EXPECT_LT(good.remote_bytes(), 0.01 * good.local_bytes());
}

// A plan with resting members costs the same as one without these members.
TEST(CostModel, RestingMembersCostNothing) {
  Machine machine = Machine::from_synthetic("pack:2 numa:1 l3:1 core:4 pu:1");
  BandwidthTable table = assumed_bandwidth(machine);
  TestModel model = qwen3_4b_q4_0();
  PlacedPlan all = plan_on(machine, {});
  PlacedPlan some = all, few = all;
  for (PlanGroup& group : some.plan.groups) group.members.resize(2);
  few.placement.seats.clear();
  few.plan.member_shards.clear();
  for (uint32_t g = 0; g < 2; ++g) {
    for (uint32_t m : some.plan.groups[g].members) {
      few.placement.seats.push_back(all.placement.seats[m]);
      few.plan.member_shards.push_back(g);
    }
    few.plan.groups[g].members = member_range(2 * g, 2 * g + 2);
  }
  for (uint32_t rows : {1u, 64u}) {
    StepCost rests = predict_step(machine, table, model.spec(), some, {rows, 256});
    StepCost gone = predict_step(machine, table, model.spec(), few, {rows, 256});
    EXPECT_EQ(rests.seconds, gone.seconds) << rows;
    EXPECT_EQ(rests.nodes[1].threads, 2u);
    EXPECT_GT(rests.seconds, predict_step(machine, table, model.spec(), all, {rows, 256}).seconds);
  }
}

// Only the group's threads that stand on a shard read it. If none of them stands there, all read
// it.
TEST(CostModel, ThreadsReadTheShardTheyStandOn) {
  Machine machine = Machine::from_synthetic("pack:2 numa:1 l3:1 core:4 pu:1");
  BandwidthTable table = assumed_bandwidth(machine);
  TestModel model = qwen3_4b_q4_0();
  PlacedPlan plan = plan_on(machine, {}, 0, 1);
  StepCost beside = predict_step(machine, table, model.spec(), plan, {1, 256});
  EXPECT_LT(beside.remote_bytes(), 0.01 * beside.local_bytes());
  plan.plan.member_shards.assign(8, 0);
  StepCost first = predict_step(machine, table, model.spec(), plan, {1, 256});
  // All threads read both shards, at half the rate from the other node.
  EXPECT_NEAR(first.remote_bytes(), first.weight_bytes / 3, 0.02 * first.weight_bytes);
}

// Two nodes that read the same memory share its rate, though each would get that rate if the other
// rested.
TEST(CostModel, AMemoryGivesNoMoreThanItHas) {
  Machine machine = Machine::from_synthetic("pack:2 numa:1 l3:1 core:4 pu:1");
  BandwidthTable table = assumed_bandwidth(machine);
  table.read = {{100e9, 100e9}, {100e9, 100e9}};
  PlacedPlan plan = plan_on(machine, {});
  plan.shard_nodes = {0};
  plan.shares = {1};
  plan.plan = even_plan(Phase::kDecode, 16, 1, 1, 8);
  StepCost cost = predict_step(machine, table, qwen3_4b_q4_0().spec(), plan, {1, 256});
  EXPECT_GT(cost.seconds, cost.weight_bytes / 100e9);
  EXPECT_LT(cost.seconds, 1.25 * cost.weight_bytes / 100e9);
}

// The model has 32 query heads and 2 KV heads. The four nodes divide the query heads, and each
// reads a cache of its own. With only 2 query heads, two nodes have no work.
TEST(CostModel, FewerKvHeadsThanNodes) {
  Machine machine = Machine::from_synthetic("pack:4 numa:1 l3:1 core:4 pu:1");
  auto cost = [&](uint32_t heads) {
    LlamaShape shape = qwen3_4b_shape();
    shape.type = shape.table_type = DType::kQ8_0;
    shape.heads = heads;
    shape.kv_heads = 2;
    TestModel model(shape);
    return predict_step(machine, assumed_bandwidth(machine), model.spec(), plan_on(machine, {}),
                        {1, 256});
  };
  StepCost shared = cost(32), idle = cost(2);
  EXPECT_DOUBLE_EQ(shared.kv_bytes, 36.0 * 257 * 4 * 128 * 2 * 2);
  EXPECT_DOUBLE_EQ(idle.kv_bytes, shared.kv_bytes / 2);
  auto uneven = [](const StepCost& step) {
    double least = step.nodes[0].local_bytes, most = least;
    for (const auto& node : step.nodes) {
      least = std::min(least, node.local_bytes);
      most = std::max(most, node.local_bytes);
    }
    return most / least;
  };
  // The tolerance is for the vocabulary, which 4 does not divide.
  EXPECT_LT(uneven(shared), 1.001);
  EXPECT_GT(uneven(idle), 1.01);
}

TEST(CostModel, SlidingWindowBoundsWhatAttentionReads) {
  Machine machine = Machine::from_synthetic("pack:1 core:4 pu:1");
  LlamaShape shape = qwen3_4b_shape();
  shape.window = 128;
  TestModel model(shape);
  StepCost cost = predict_step(machine, assumed_bandwidth(machine), model.spec(),
                               plan_on(machine, {}), {1, 10000});
  EXPECT_DOUBLE_EQ(cost.kv_bytes, 36.0 * 128 * 8 * 128 * 2 * 2);
}

// Known values: 1 / sqrt(pi), 3 / (2 sqrt(pi)), 1.0294, 1.4236 (Teichroew, 1956). The sum over
// steps of 1 / 256 is off by less than step^2.
TEST(CostModel, MeanOfTheGreatest) {
  EXPECT_EQ(mean_greatest(1), 0);
  EXPECT_NEAR(mean_greatest(2), 0.56419, 2e-5);
  EXPECT_NEAR(mean_greatest(3), 0.84628, 2e-5);
  EXPECT_NEAR(mean_greatest(4), 1.02938, 2e-5);
  EXPECT_NEAR(mean_greatest(8), 1.42360, 2e-5);
}

}  // namespace
}  // namespace hearth
