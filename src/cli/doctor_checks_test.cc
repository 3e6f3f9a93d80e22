#include "cli/doctor_checks.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

BandwidthTable reads(double rate, uint32_t nodes, uint32_t threads) {
  BandwidthTable table;
  for (uint32_t node = 0; node < nodes; ++node) {
    table.read.emplace_back(nodes, rate / 10);
    table.read[node][node] = rate;
    table.threads.push_back(threads);
  }
  return table;
}

TEST(DoctorChecksTest, ReadingBesideChannels) {
  Finding finding = check_reading(reads(100e9, 2, 16), std::nullopt);
  EXPECT_EQ(finding.level, FindingLevel::kOk);
  EXPECT_EQ(finding.found, "200.0 GB/s by 32 threads");
  finding = check_reading(reads(100e9, 2, 16), 8);
  EXPECT_EQ(finding.level, FindingLevel::kOk);
  EXPECT_EQ(finding.found, "200.0 GB/s by 32 threads; 8 channels with modules, 25.0 GB/s each");
  finding = check_reading(reads(20e9, 2, 16), 8);
  EXPECT_EQ(finding.level, FindingLevel::kNote);
  EXPECT_FALSE(finding.remedy.empty());
  // Two threads cannot use the bandwidth of eight channels.
  EXPECT_EQ(check_reading(reads(20e9, 1, 2), 8).level, FindingLevel::kOk);
}

TEST(DoctorChecksTest, Disk) {
  EXPECT_EQ(check_disk("/home/me/x", uint64_t{20} << 30, false).found, "20.00 GiB free for models");
  EXPECT_EQ(check_disk("/home/me/x", uint64_t{20} << 30, true).found,
            "20.00 GiB free for models in /home/me/x");
  EXPECT_EQ(check_disk("/x", uint64_t{9} << 30, false).level, FindingLevel::kNote);
  EXPECT_EQ(check_disk("/x", std::nullopt, false).level, FindingLevel::kNote);
  EXPECT_GT(free_disk_bytes(testing::TempDir() + "/is/not/there/yet").value_or(0), 0u);
}

TEST(DoctorChecksTest, Stores) {
  EXPECT_EQ(check_stores({}, false).found, "no model on this machine yet");
  const std::vector<LocalModel> models = {
      {.name = "o/one:Q8_0", .store = "cache", .bytes = 1 << 30},
      {.name = "o/two:Q8_0", .store = "cache", .bytes = 1 << 30},
      {.name = "m:1b", .store = "ollama", .bytes = 1 << 20}};
  const Finding finding = check_stores(models, false);
  EXPECT_EQ(finding.level, FindingLevel::kOk);
  EXPECT_EQ(finding.found, "cache: 2 models, 2.00 GiB; ollama: 1 model, 1.00 MiB");
  EXPECT_EQ(check_stores(models, true).found,
            "cache: 2 models, 2.00 GiB (o/one:Q8_0, o/two:Q8_0); ollama: 1 model, 1.00 MiB (m:1b)");
  const Finding broken = check_stores({{.name = "secret", .problem = "no JSON"}}, false);
  EXPECT_EQ(broken.level, FindingLevel::kNote);
  EXPECT_EQ(broken.found, "no model on this machine yet; 1 more model cannot be read");
}

TEST(DoctorChecksTest, TunedPlansOfAnotherMachine) {
  const TunedFields here = {{"cpu", "A"}, {"isa", "avx512"}};
  Tuned mine, other;
  mine.machine = here;
  other.machine = {{"cpu", "A"}, {"isa", "avx2"}};
  EXPECT_EQ(check_tuned({}, here, false).found, "nothing was tuned here yet");
  EXPECT_EQ(check_tuned({{"/p/a", mine, ""}}, here, false).level, FindingLevel::kOk);
  const std::vector<TunedStore::Entry> entries = {
      {"/p/a", mine, ""}, {"/p/b", other, ""}, {"/p/c", std::nullopt, "/p/c: line 1"}};
  Finding finding = check_tuned(entries, here, false);
  EXPECT_EQ(finding.level, FindingLevel::kNote);
  EXPECT_EQ(finding.found, "1 model tuned here; saved results that do not fit: " +
                               difference(other.machine, here) + "; the file cannot be read");
  finding = check_tuned(entries, here, true);
  EXPECT_NE(finding.found.find("(/p/b)"), std::string::npos);
}

}  // namespace
}  // namespace hearth
