#include "cost/contention.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "cost/test_truths.h"

namespace hearth {
namespace {

using Threads = std::vector<uint32_t>;

Threads ones(uint32_t cores, const std::function<bool(uint32_t)>& works) {
  Threads threads(cores, 0);
  for (uint32_t i = 0; i < cores; ++i) threads[i] = works(i) ? 1 : 0;
  return threads;
}

Contention found_of(const MachineTruth& truth) {
  return measure_contention(truth.machine, 0, truth.probe());
}

TEST(Contention, FindsAPortThatServesThreeOfFour) {
  for (const char* description : {"numa:1 core:8 pu:1", "numa:1 core:16 pu:1",
                                  "numa:1 core:24 pu:1", "numa:1 core:48 pu:1"}) {
    const MachineTruth truth = port_truth(description);
    const Contention found = found_of(truth);
    ASSERT_TRUE(is_sound(found));
    EXPECT_EQ(found.cluster, 4u) << description;
    const uint32_t cores = found.cores;
    for (uint32_t k = 1; k <= 4; ++k) {
      const Threads some = ones(cores, [&](uint32_t i) { return i % 4 < k; });
      EXPECT_NEAR(contended_read(found, some), truth.read(some), 0.02 * truth.read(some)) << k;
    }
    EXPECT_GT(max_read(found), 1.2 * full_read(found)) << "the curve falls";
  }
}

TEST(Contention, FindsATagThatTwoShare) {
  const MachineTruth truth = tag_truth("numa:1 core:24 pu:1");
  const Contention found = found_of(truth);
  EXPECT_EQ(found.cluster, 2u);
  const Threads half = ones(24, [](uint32_t i) { return i % 2 == 0; });
  const Threads near = ones(24, [](uint32_t i) { return i < 12; });
  EXPECT_NEAR(contended_read(found, half), truth.read(half), 0.02 * truth.read(half));
  EXPECT_NEAR(contended_read(found, near), truth.read(near), 0.05 * truth.read(near));
}

TEST(Contention, FindsNothingWhereCoresShareNothing) {
  const MachineTruth truth = threads_truth("numa:1 core:16 pu:1");
  const Contention found = found_of(truth);
  EXPECT_EQ(found.cluster, 1u);
  // Here a few cores already keep the memory busy. That must not look like a cluster.
  MachineTruth slow = truth;
  slow.memory = 5;
  EXPECT_EQ(found_of(slow).cluster, 1u);
  const Threads some = ones(16, [](uint32_t i) { return i < 10; });
  EXPECT_NEAR(contended_read(found_of(slow), some), slow.read(some), 0.02 * slow.read(some));
}

TEST(Contention, FindsTheSameUnderNoise) {
  std::mt19937 random(3);
  for (int i = 0; i < 20; ++i) {
    MachineTruth truth =
        i % 2 == 0 ? port_truth("numa:1 core:24 pu:1") : threads_truth("numa:1 core:24 pu:1");
    ContentionProbe probe = truth.probe();
    auto quiet = probe.read;
    probe.read = [&](const std::vector<uint32_t>& pus) {
      return quiet(pus) * (0.97 + 0.06 * static_cast<double>(random() % 1000) / 1000);
    };
    EXPECT_EQ(measure_contention(truth.machine, 0, probe).cluster, i % 2 == 0 ? 4u : 1u);
  }
}

// A measurement that runs out of time has only patterns of few cores in a row and of all cores.
TEST(Contention, LeavesOutPatternsWhereItIsLate) {
  const MachineTruth truth = port_truth("numa:1 core:24 pu:2");
  const uint32_t patterns = contention_patterns(truth.machine, 0);
  for (auto [in_time, made] : {std::pair(0u, 10u), {7u, 12u}, {patterns, patterns}}) {
    uint32_t reads = 0, reports = 0;
    ContentionProbe probe = truth.probe();
    auto read = probe.read;
    probe.read = [&](const std::vector<uint32_t>& pus) {
      ++reads;
      return read(pus);
    };
    probe.late = [&] { return reads >= in_time; };
    probe.report = [&] { ++reports; };
    const Contention found = measure_contention(truth.machine, 0, probe);
    EXPECT_TRUE(is_sound(found));
    EXPECT_EQ(found.whole, in_time == patterns);
    EXPECT_EQ(reports, patterns);
    EXPECT_EQ(reads, made);
    EXPECT_EQ(found.cluster, in_time == patterns ? 4u : 1u);
    const Threads all(24, 1), one = ones(24, [](uint32_t i) { return i == 0; });
    EXPECT_NEAR(contended_read(found, all), truth.read(all), 0.02 * truth.read(all));
    EXPECT_NEAR(contended_read(found, one), truth.read(one), 0.02 * truth.read(one));
  }
}

TEST(Contention, MeasuresAnIncompleteTableAgainWithTwiceTheTime) {
  Contention known;
  EXPECT_FALSE(is_worth_measuring(known, 15));
  known.whole = false;
  known.seconds = 3;
  EXPECT_FALSE(is_worth_measuring(known, 5.9));
  EXPECT_TRUE(is_worth_measuring(known, 6));
}

TEST(Contention, KeepsTheTableThatHadMoreTime) {
  Contention whole, shorter, longer, of_fewer;
  whole.cores = shorter.cores = longer.cores = 24;
  shorter.whole = longer.whole = of_fewer.whole = false;
  shorter.seconds = 1;
  longer.seconds = 3;
  of_fewer.cores = 8;
  EXPECT_EQ(&newer_of(whole, shorter), &whole);
  EXPECT_EQ(&newer_of(longer, shorter), &longer);
  EXPECT_EQ(&newer_of(shorter, longer), &longer);
  EXPECT_EQ(&newer_of(shorter, whole), &whole);
  const Contention other = whole;
  EXPECT_EQ(&newer_of(other, whole), &whole) << "both are whole";
  EXPECT_EQ(&newer_of(whole, of_fewer), &of_fewer) << "it is of another node";
}

TEST(Contention, CountsWhatSecondThreadsBring) {
  const MachineTruth truth = threads_truth("numa:1 core:8 pu:2");
  const Contention found = found_of(truth);
  ASSERT_EQ(found.ways.size(), 2u);
  EXPECT_NEAR(found.ways[0].ops, 1, 1e-9);
  EXPECT_NEAR(found.ways[1].ops, 1.25, 1e-9);
  const Threads twos(8, 2), mixed{2, 2, 2, 2, 1, 1, 1, 1};
  EXPECT_NEAR(contended_read(found, twos), 0.95 * full_read(found), 1e-9);
  EXPECT_NEAR(contended_read(found, mixed), 0.975 * full_read(found), 1e-9);
}

TEST(Contention, MeasuresNothingWhereCoresDiffer) {
  Machine machine = Machine::from_synthetic("numa:1 core:4 pu:2");
  std::erase(machine.allowed_pus, 7u);
  MachineTruth truth = threads_truth("numa:1 core:4 pu:2");
  EXPECT_EQ(measure_contention(machine, 0, truth.probe()).cores, 0u);
  const Machine one = Machine::from_synthetic("numa:1 core:1 pu:1");
  EXPECT_EQ(measure_contention(one, 0, truth.probe()).cores, 0u);
  EXPECT_TRUE(is_sound({}));
}

}  // namespace
}  // namespace hearth
