#include "bench/team_limits.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

// Two nodes of two cores with `cache` bytes each.
Machine two_nodes(uint64_t cache) {
  Machine machine = Machine::invented(2, 2);
  for (LlcGroup& llc : machine.llcs) llc.bytes = cache;
  machine.memory_available = 0;
  return machine;
}

TEST(PlanReadBuffers, FourTimesTheCachesInUse) {
  Machine machine = two_nodes(10 * kMiB);
  machine.llcs[1].bytes = 3 * kMiB / 2;
  Placement placement = place_threads(machine, {.threads = 4});
  EXPECT_EQ(plan_read_buffers(machine, placement),
            (std::vector<NodeBytes>{{0, 40 * kMiB, 40 * kMiB}, {1, 6 * kMiB, 6 * kMiB}}));
  // No member sits on node 1.
  placement = place_threads(machine, {.threads = 2, .policy = NodePolicy::kCompact});
  EXPECT_EQ(plan_read_buffers(machine, placement),
            (std::vector<NodeBytes>{{0, 40 * kMiB, 40 * kMiB}}));
  machine.llcs[0].bytes = 0;
  EXPECT_EQ(plan_read_buffers(machine, placement)[0].wanted, 128 * kMiB);
}

TEST(PlanReadBuffers, TakesHalfOfWhatIsFreeAtMost) {
  Machine machine = two_nodes(10 * kMiB);
  Placement placement = place_threads(machine, {.threads = 4});
  machine.memory_available = 60 * kMiB;
  EXPECT_EQ(plan_read_buffers(machine, placement),
            (std::vector<NodeBytes>{{0, 40 * kMiB, 15 * kMiB}, {1, 40 * kMiB, 15 * kMiB}}));
  machine.nodes[1].available_bytes = 8 * kMiB;
  EXPECT_EQ(plan_read_buffers(machine, placement)[1].bytes, 4 * kMiB);
  machine.nodes[1].available_bytes = 1000;
  EXPECT_EQ(plan_read_buffers(machine, placement)[1].bytes, kMiB);
}

TEST(TeamLimits, SamplesEveryLevel) {
  Machine machine = two_nodes(kMiB);
  Placement placement = place_threads(machine, {.threads = 3});
  Team team(3);
  std::vector<Isa> isas = available_isas(detect_cpu_features());
  TeamLimits limits(team, machine, placement, isas);
  EXPECT_EQ(limits.buffer().bytes, 8 * kMiB);
  EXPECT_FALSE(limits.buffer().is_short());
  for (int i = 0; i < 2; ++i) limits.sample();
  ASSERT_EQ(limits.levels().size(), isas.size());
  for (size_t i = 0; i < isas.size(); ++i) {
    const LevelLimits& level = limits.levels()[i];
    EXPECT_EQ(level.isa, isas[i]);
    ASSERT_EQ(level.samples.size(), 2u);
    for (const LimitSample& sample : level.samples) {
      EXPECT_GT(sample.read, 0);
      EXPECT_GE(level.best.read, sample.read) << "the best part is at least the average";
      for (size_t u = 0; u < kArithmeticUnits; ++u) {
        bool has =
            static_cast<ArithmeticUnit>(u) != ArithmeticUnit::kBf16Dot || multiplies_bf16(isas[i]);
        EXPECT_EQ(sample.ops[u] > 0, has);
        EXPECT_GE(level.best.ops[u], sample.ops[u] * (1 - 1e-12));
      }
    }
  }
}

TEST(TeamLimits, ReportsAShortBuffer) {
  Machine machine = two_nodes(kMiB);
  machine.memory_available = 4 * kMiB;
  Placement placement = place_threads(machine, {.threads = 2});
  Team team(2);
  TeamLimits limits(team, machine, placement, {Isa::kReference});
  EXPECT_EQ(limits.buffer().bytes, 2 * kMiB);
  EXPECT_EQ(limits.buffer().wanted, 8 * kMiB);
  EXPECT_TRUE(limits.buffer().is_short());
}

}  // namespace
}  // namespace hearth
