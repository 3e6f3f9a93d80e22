#include "topology/machine.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "base/error.h"

namespace hearth {
namespace {

const char* const kEpyc7H12Nps4 = "pack:2 numa:4 l3:4(size=16777216) core:4 pu:2";
const char* const kKunpeng920 = "pack:4 numa:2 l3:1 core:24 pu:1";
const std::string kHybrid = HEARTH_TOPOLOGY_TESTDATA "/hybrid_memoryless.xml";

// Expects that references between containers agree in both directions, and that every PU is in one
// core.
void expect_consistent(const Machine& machine) {
  std::vector<uint32_t> pus;
  ASSERT_FALSE(machine.kinds.empty());
  for (uint32_t c = 0; c < machine.cores.size(); ++c) {
    const Core& core = machine.cores[c];
    ASSERT_LT(core.node, machine.nodes.size());
    ASSERT_LT(core.llc, machine.llcs.size());
    ASSERT_LT(core.kind, machine.kinds.size());
    ASSERT_LT(core.package, machine.packages.size());
    EXPECT_EQ(machine.llcs[core.llc].node, core.node);
    for (const std::vector<uint32_t>* cores :
         {&machine.nodes[core.node].cores, &machine.llcs[core.llc].cores,
          &machine.kinds[core.kind].cores}) {
      EXPECT_EQ(std::count(cores->begin(), cores->end(), c), 1);
    }
    EXPECT_FALSE(core.pus.empty());
    pus.insert(pus.end(), core.pus.begin(), core.pus.end());
  }
  for (uint32_t n = 0; n < machine.nodes.size(); ++n) {
    const std::vector<uint32_t>& siblings = machine.packages[machine.nodes[n].package].nodes;
    EXPECT_EQ(std::count(siblings.begin(), siblings.end(), n), 1);
    for (uint32_t llc : machine.nodes[n].llcs) EXPECT_EQ(machine.llcs[llc].node, n);
    ASSERT_EQ(machine.distances[n].size(), machine.nodes.size());
    EXPECT_LT(machine.memory_node(n), machine.nodes.size());
  }
  EXPECT_EQ(machine.distances.size(), machine.nodes.size());
  EXPECT_FALSE(machine.allowed_pus.empty());
  EXPECT_TRUE(std::is_sorted(machine.allowed_pus.begin(), machine.allowed_pus.end()));
  if (machine.source == MachineSource::kInvented) return;
  EXPECT_EQ(std::set<uint32_t>(pus.begin(), pus.end()).size(), pus.size());
  for (uint32_t pu : machine.allowed_pus) EXPECT_EQ(std::count(pus.begin(), pus.end(), pu), 1);
}

TEST(MachineTest, Live) {
  Machine machine = Machine::live();
  expect_consistent(machine);
  EXPECT_EQ(machine.source, MachineSource::kLive);
  EXPECT_GE(machine.nodes.size(), 1u);
  EXPECT_GT(machine.nodes[0].memory_bytes, 0u);
  EXPECT_GT(machine.memory_available, 0u);
  EXPECT_GE(machine.allowed_core_count(), 1u);
  EXPECT_LE(machine.allowed_core_count(), machine.allowed_pus.size());
}

TEST(MachineTest, OneNode) {
  Machine machine = Machine::from_synthetic("pack:1 l3:1 core:6 pu:2");
  expect_consistent(machine);
  EXPECT_EQ(machine.source, MachineSource::kDescribed);
  EXPECT_EQ(machine.nodes.size(), 1u);
  EXPECT_EQ(machine.llcs.size(), 1u);
  EXPECT_EQ(machine.cores.size(), 6u);
  EXPECT_EQ(machine.cores[1].pus, (std::vector<uint32_t>{2, 3}));
  EXPECT_FALSE(machine.binds_memory());
}

TEST(MachineTest, WithoutPackagesCachesOrCores) {
  Machine machine = Machine::from_synthetic("numa:2 pu:3");
  expect_consistent(machine);
  EXPECT_EQ(machine.packages.size(), 1u);
  EXPECT_EQ(machine.llcs.size(), 2u);
  EXPECT_EQ(machine.cores.size(), 6u);
  EXPECT_EQ(machine.llcs[0].bytes, 0u);
}

TEST(MachineTest, Epyc7H12Nps4) {
  Machine machine = Machine::from_synthetic(kEpyc7H12Nps4);
  expect_consistent(machine);
  EXPECT_EQ(machine.packages.size(), 2u);
  EXPECT_EQ(machine.nodes.size(), 8u);
  EXPECT_EQ(machine.llcs.size(), 32u);
  EXPECT_EQ(machine.llcs[5].bytes, 16u << 20);
  EXPECT_EQ(machine.cores.size(), 128u);
  EXPECT_EQ(machine.nodes[7].package, 1u);
  EXPECT_EQ(machine.nodes[7].cores.size(), 16u);
  EXPECT_EQ(machine.nodes[7].llcs.size(), 4u);
  EXPECT_EQ(machine.allowed_pus.size(), 256u);
}

TEST(MachineTest, Kunpeng920) {
  Machine machine = Machine::from_synthetic(kKunpeng920);
  expect_consistent(machine);
  EXPECT_EQ(machine.packages.size(), 4u);
  EXPECT_EQ(machine.nodes.size(), 8u);
  EXPECT_EQ(machine.cores.size(), 192u);
  EXPECT_EQ(machine.distances[0][0], 10u);
  EXPECT_EQ(machine.distances[0][7], 20u);
  EXPECT_FALSE(machine.distances_known);
}

// Node 0 has four P cores, node 1 four E cores and no memory, node 2 memory only.
TEST(MachineTest, HybridWithOddNodes) {
  Machine machine = Machine::from_xml(kHybrid);
  expect_consistent(machine);
  EXPECT_EQ(machine.cpu_name, "Example Hybrid Processor");
  ASSERT_EQ(machine.nodes.size(), 3u);
  EXPECT_EQ(machine.nodes[0].cores.size(), 4u);
  EXPECT_EQ(machine.nodes[1].cores.size(), 4u);
  EXPECT_EQ(machine.nodes[1].memory_bytes, 0u);
  EXPECT_TRUE(machine.nodes[2].cores.empty());
  EXPECT_EQ(machine.nodes[2].memory_bytes, 16ull << 30);
  ASSERT_EQ(machine.kinds.size(), 2u);
  EXPECT_EQ(machine.kinds[0].name, "IntelAtom");
  EXPECT_EQ(machine.kinds[1].name, "IntelCore");
  EXPECT_EQ(machine.kinds[1].cores, machine.nodes[0].cores);
  EXPECT_TRUE(machine.distances_known);
  EXPECT_EQ(machine.distances[1][2], 17u);
  EXPECT_EQ(machine.memory_node(0), 0u);
  EXPECT_EQ(machine.memory_node(1), 2u) << "17 away, where node 0 is 21 away";
  machine.nodes[2].memory_allowed = false;
  EXPECT_EQ(machine.memory_node(1), 0u);
}

TEST(MachineTest, Invented) {
  Machine real = Machine::live();
  Machine machine = Machine::invented(4, 3);
  expect_consistent(machine);
  EXPECT_EQ(machine.source, MachineSource::kInvented);
  EXPECT_FALSE(machine.binds_memory());
  EXPECT_EQ(machine.nodes.size(), 4u);
  EXPECT_EQ(machine.cores.size(), 12u);
  EXPECT_EQ(machine.allowed_core_count(), 12u);
  for (uint32_t c = 0; c < 12; ++c) {
    EXPECT_EQ(machine.cores[c].node, c / 3);
    EXPECT_EQ(machine.cores[c].pus[0], real.allowed_pus[c % real.allowed_pus.size()]);
  }
}

template <typename Make>
void expect_error(ErrorCode code, const std::string& part, const Make& make) {
  try {
    make();
    FAIL() << "no error that says " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(MachineTest, BadInput) {
  expect_error(ErrorCode::kUsage, "\"pack:\"", [] { Machine::from_synthetic("pack:"); });
  expect_error(ErrorCode::kUsage, "\" is not a synthetic hwloc description such as",
               [] { Machine::from_synthetic("a machine"); });
  expect_error(ErrorCode::kFile, "/nowhere.xml", [] { Machine::from_xml("/nowhere.xml"); });
  expect_error(ErrorCode::kUsage, "0 invented nodes", [] { Machine::invented(0, 4); });
  expect_error(ErrorCode::kUsage, "of 0 cores", [] { Machine::invented(4, 0); });
  expect_error(ErrorCode::kUsage, "between", [] { Machine::invented(1u << 30, 4); });
  std::string path = testing::TempDir() + "hearth_topology_" + std::to_string(getpid()) + ".xml";
  std::ofstream(path) << "<topology version=\"2.0\"><object type=\"Mach";
  expect_error(ErrorCode::kFile, path, [&] { Machine::from_xml(path); });
  unlink(path.c_str());
}

}  // namespace
}  // namespace hearth
