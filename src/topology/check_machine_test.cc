#include "topology/check_machine.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace hearth {
namespace {

Machine described(const std::string& text) {
  Machine machine = Machine::from_synthetic(text);
  machine.thp = ThpMode::kMadvise;
  machine.memory_available = uint64_t{64} << 30;
  for (uint32_t core = 0; core < machine.cores.size(); ++core) {
    if (machine.allowed_pus.size() == machine.cores.size()) break;
    machine.allowed_pus.push_back(machine.cores[core].pus[0]);
  }
  return machine;
}

Finding about(const std::string& what, const Machine& machine, const SystemFacts& facts = {}) {
  for (const Finding& finding : check_machine(machine, facts)) {
    if (finding.about == what) return finding;
  }
  ADD_FAILURE() << what;
  return {};
}

TEST(CheckMachineTest, AllIsWell) {
  for (const Finding& finding : check_machine(described("pack:1 numa:1 core:8 pu:1"), {})) {
    EXPECT_EQ(finding.level, FindingLevel::kOk) << finding.about << ": " << finding.found;
    EXPECT_EQ(finding.remedy, "");
  }
}

TEST(CheckMachineTest, AQuotaOfHalfTheCores) {
  Machine machine = described("pack:1 numa:1 core:8 pu:1");
  machine.cpu_quota = 4.0;
  Finding finding = about("cores", machine);
  EXPECT_EQ(finding.level, FindingLevel::kBad);
  EXPECT_NE(finding.found.find("the time of 4.0"), std::string::npos) << finding.found;
  EXPECT_NE(finding.remedy.find("-t 4"), std::string::npos);
}

TEST(CheckMachineTest, TwoNodes) {
  Machine machine = described("pack:1 numa:2 core:4 pu:1");
  EXPECT_EQ(about("memory nodes", machine).level, FindingLevel::kOk);
  EXPECT_EQ(about("memory nodes", machine, {.numa_balancing = true}).level, FindingLevel::kNote);
  EXPECT_EQ(about("memory nodes", machine, {.memory_policy = 2}).level, FindingLevel::kBad);
  Machine one = described("pack:1 numa:1 core:4 pu:1");
  EXPECT_EQ(about("memory nodes", one, {.memory_policy = 2}).level, FindingLevel::kOk);
}

TEST(CheckMachineTest, SmallPagesASlowClockAndLittleMemory) {
  Machine machine = described("pack:1 numa:1 core:4 pu:1");
  machine.thp = ThpMode::kNever;
  EXPECT_EQ(about("huge pages", machine).level, FindingLevel::kNote);
  EXPECT_EQ(about("clock", machine, {.governor = "powersave"}).level, FindingLevel::kNote);
  EXPECT_EQ(about("clock", machine, {.governor = "performance"}).level, FindingLevel::kOk);
  machine.memory_available = uint64_t{512} << 20;
  EXPECT_EQ(about("memory", machine).level, FindingLevel::kBad);
}

TEST(CheckMachineTest, CountsChannelsThatHoldModules) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / "edac";
  fs::remove_all(folder);
  EXPECT_EQ(count_memory_channels(folder), std::nullopt);
  struct Module {
    const char *at, *location, *size;
  };
  for (const Module& module : std::vector<Module>{{"mc0/dimm0", "channel 0 slot 0 ", "16384"},
                                                  {"mc0/dimm1", "channel 0 slot 1 ", "16384"},
                                                  {"mc0/dimm2", "channel 1 slot 0 ", "16384"},
                                                  {"mc0/dimm3", "channel 2 slot 0 ", "0"},
                                                  {"mc1/rank0", "csrow 0 channel 0 ", "16384"}}) {
    fs::create_directories(folder / module.at);
    std::ofstream(folder / module.at / "dimm_location") << module.location << "\n";
    std::ofstream(folder / module.at / "size") << module.size << "\n";
  }
  fs::create_directories(folder / "mc0/power");
  EXPECT_EQ(count_memory_channels(folder), 3u);
  fs::remove_all(folder);
}

TEST(CheckMachineTest, ShowsReservedHugePages) {
  Machine machine = described("pack:1 numa:2 core:4 pu:1");
  machine.nodes[0].free_2m = 100;
  machine.nodes[1].free_2m = 28;
  EXPECT_EQ(about("huge pages", machine).found,
            "transparent ones: madvise; 128 of 2 MiB are reserved and free");
}

}  // namespace
}  // namespace hearth
