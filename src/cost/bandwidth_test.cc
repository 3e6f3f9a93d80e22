#include "cost/bandwidth.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace hearth {
namespace {

const std::string kHybrid = HEARTH_TOPOLOGY_TESTDATA "/hybrid_memoryless.xml";

TEST(Bandwidth, EveryPairOfNodesIsMeasured) {
  Machine machine = Machine::invented(3, 1);
  uint32_t calls = 0, total = 0;
  BandwidthOptions options{.passes = 2, .max_bytes = 4 << 20, .report = {}};
  options.report = [&](uint32_t done, uint32_t of) {
    EXPECT_EQ(done, ++calls);
    total = of;
  };
  Isa isa = best_isa(detect_cpu_features());
  BandwidthTable table = measure_bandwidth(machine, isa, options);
  EXPECT_EQ(calls, 9u);
  EXPECT_EQ(total, 9u);
  ASSERT_TRUE(table.contention);
  EXPECT_EQ(table.contention->cores, 0u) << "one core a node";
  for (const std::vector<double>& row : table.read) {
    ASSERT_EQ(row.size(), 3u);
    for (double rate : row) EXPECT_GT(rate, 0);
  }
  EXPECT_EQ(table.threads, (std::vector<uint32_t>{1, 1, 1}));
  EXPECT_GT(table.core_read, 0);
  EXPECT_GT(table.core_ops[static_cast<size_t>(ArithmeticUnit::kF32Fma)], 0);
  EXPECT_EQ(table.buffer_bytes, 4u << 20);
  EXPECT_TRUE(table.is_short()) << "an unknown cache counts 32 MiB";
  check_bandwidth(table, machine);
}

// A machine with one node has no rates between nodes, but its cores' contention is measured.
TEST(Bandwidth, CoresAreMeasuredBesideEachOther) {
  const Machine machine = Machine::invented(1, 2);
  uint32_t calls = 0, total = 0;
  BandwidthTable table = measure_bandwidth(
      machine, Isa::kReference,
      {.passes = 1, .max_bytes = 4 << 20, .report = [&](uint32_t done, uint32_t all) {
         EXPECT_EQ(done, ++calls);
         total = all;
       }});
  EXPECT_EQ(calls, total);
  EXPECT_EQ(total, 1 + contention_patterns(machine, 0));
  ASSERT_TRUE(table.contention);
  EXPECT_EQ(table.contention->cores, 2u);
  EXPECT_TRUE(is_sound(*table.contention));
  EXPECT_GT(full_read(*table.contention), 0);
}

TEST(Bandwidth, DescriptionsAreNotMeasured) {
  EXPECT_THROW(measure_bandwidth(Machine::from_synthetic("pack:1 core:2 pu:1"), Isa::kReference),
               Error);
}

TEST(Bandwidth, AssumedFromDistances) {
  BandwidthTable table = assumed_bandwidth(Machine::from_xml(kHybrid));
  EXPECT_DOUBLE_EQ(table.read[0][0], 100e9);
  EXPECT_DOUBLE_EQ(table.read[0][2], 100e9 / 3.0);
  EXPECT_EQ(table.read[0][1], 0) << "node 1 has no memory";
  EXPECT_EQ(table.read[2], (std::vector<double>{0, 0, 0})) << "node 2 has no cores";
  EXPECT_EQ(table.threads, (std::vector<uint32_t>{4, 4, 0}));
}

TEST(Bandwidth, AssumesMemoryOnAllNodesWhereNoneIsKnown) {
  Machine machine = Machine::from_synthetic("pack:1 numa:2 core:2 pu:1");
  for (NumaNode& node : machine.nodes) node.memory_bytes = 0;
  EXPECT_DOUBLE_EQ(assumed_bandwidth(machine).read[1][0], 50e9);
}

TEST(Bandwidth, TablesOfOtherMachinesAreRefused) {
  Machine machine = Machine::from_xml(kHybrid);
  BandwidthTable table = assumed_bandwidth(machine);
  check_bandwidth(table, machine);
  EXPECT_THROW(check_bandwidth(table, Machine::from_synthetic("pack:2 core:2 pu:1")), Error);
  table.read[1][2] = 0;
  EXPECT_THROW(check_bandwidth(table, machine), Error);
}

}  // namespace
}  // namespace hearth
