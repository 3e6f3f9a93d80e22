#include "embed/estimator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "embed/test_virtual_time.h"

namespace hearth {
namespace {

Estimate estimate_of(const SimOptions& sim, double slo) {
  SimTime time(sim);
  EstimateOptions options;
  options.slo = slo;
  return estimate_depth([&](uint32_t count) { return time.seconds(uint64_t{count} * sim.tokens); },
                        options);
}

struct PaperCase {
  const VirtualDevice* device;
  double slo;
  uint64_t depth;  // table III, linear regression
};

const PaperCase kTable3[] = {{&kV100, 1, 40},   {&kXeon, 1, 8},    {&kAtlas, 1, 84},
                             {&kKunpeng, 1, 2}, {&kV100, 2, 96},   {&kXeon, 2, 20},
                             {&kAtlas, 2, 195}, {&kKunpeng, 2, 15}};

TEST(Estimator, GivesTheRegressionOfThePaper) {
  for (const PaperCase& one : kTable3) {
    Estimate estimate = estimate_of(one.device->sim, one.slo);
    EXPECT_EQ(estimate.depth, one.depth);
    EXPECT_NEAR(estimate.line.alpha, one.device->sim.alpha, 1e-9);
    EXPECT_NEAR(estimate.line.beta, one.device->sim.beta, 1e-9);
  }
}

TEST(Estimator, MeasuresThreeTimesAtSixSizesAtMost) {
  for (const PaperCase& one : kTable3) {
    Estimate estimate = estimate_of(one.device->sim, one.slo);
    std::set<double> counts;
    for (const LatencySample& sample : estimate.samples) counts.insert(sample.count);
    EXPECT_LE(counts.size(), 6u);
    EXPECT_LE(estimate.samples.size(), 18u);
    EXPECT_LE(*counts.rbegin(), 1.06 * static_cast<double>(one.depth) + 1);
  }
}

// A depth is a whole number, so a small one is right up to one query. The 18 times are within 5 %
// of the line, evenly drawn (standard deviation 2.9 %). At least half of them are near the
// objective, and give its time within 1 %, and the depth within 1 % / (1 - beta / slo): 1.4 % for
// the V100.
TEST(Estimator, GivesThemWithinThreePercentUnderNoise) {
  constexpr int kSeeds = 200;
  for (const PaperCase& one : kTable3) {
    int near = 0;
    for (int seed = 0; seed < kSeeds; ++seed) {
      SimOptions sim = one.device->sim;
      sim.noise = 0.05;
      sim.seed = seed;
      double off = std::abs(static_cast<double>(estimate_of(sim, one.slo).depth) -
                            static_cast<double>(one.depth));
      if (off <= std::max(1.0, 0.03 * static_cast<double>(one.depth))) ++near;
    }
    EXPECT_GE(near, 0.95 * kSeeds) << one.depth;
  }
}

TEST(Estimator, GivesNoDepthToADeviceThatMissesTheObjectiveAlone) {
  Estimate estimate = estimate_of(sim_of(0.1, 1.2), 1);
  EXPECT_EQ(estimate.depth, 0u);
  EXPECT_EQ(estimate.samples.size(), 3u);
}

TEST(Estimator, StaysWithinTheMaximum) {
  EstimateOptions options;
  options.most = 50;
  uint32_t largest = 0;
  Estimate estimate = estimate_depth(
      [&](uint32_t count) {
        largest = std::max(largest, count);
        return 0.01;
      },
      options);
  EXPECT_EQ(estimate.depth, 50u);
  EXPECT_LE(largest, 50u);
}

// A slope that is zero by chance promises any depth; the batches must still grow by steps.
TEST(Estimator, GrowsByStepsWhateverALinePromises) {
  std::vector<uint32_t> counts;
  EstimateOptions options;
  estimate_depth(
      [&](uint32_t count) {
        counts.push_back(count);
        return 0.5;
      },
      options);
  uint32_t largest = 1;
  for (uint32_t count : counts) {
    EXPECT_LE(count, 4 * largest);
    largest = std::max(largest, count);
  }
}

// Runs rounds with devices that, when all run, take `factor` times as long as `alone` says.
std::vector<uint64_t> tuned(const std::vector<VirtualDevice>& alone, double factor, double slo,
                            const std::vector<uint64_t>& start, int* rounds) {
  std::vector<DepthTuner::Device> devices;
  for (size_t i = 0; i < alone.size(); ++i) {
    devices.push_back({{alone[i].sim.alpha, alone[i].sim.beta}, start[i]});
  }
  DepthTuner tuner(devices, slo, 1000);
  for (*rounds = 0; !tuner.done() && *rounds < 1000; ++*rounds) {
    std::vector<double> seconds;
    for (size_t i = 0; i < alone.size(); ++i) {
      SimTime time(alone[i].sim);
      seconds.push_back(factor * time.seconds(tuner.depths()[i] * alone[i].sim.tokens));
    }
    tuner.record(seconds);
  }
  return tuner.depths();
}

TEST(DepthTuner, LowersDepthsUntilNoQueryIsLate) {
  int rounds = 0;
  // 0.9 s of the devices' own time are left: (0.9 - 0.27) / 0.018 and (0.9 - 0.32) / 0.084.
  EXPECT_EQ(tuned({kV100, kXeon}, 1 / 0.9, 1, {40, 8}, &rounds), (std::vector<uint64_t>{35, 6}));
  EXPECT_LT(rounds, 20);
}

TEST(DepthTuner, RaisesWhatIsInTime) {
  int rounds = 0;
  EXPECT_EQ(tuned({kV100, kXeon}, 1, 1, {30, 8}, &rounds), (std::vector<uint64_t>{40, 8}));
  EXPECT_LT(rounds, 20);
}

TEST(DepthTuner, ComesBackFromADelayThatWasNotTheDepths) {
  DepthTuner tuner({{{0.01, 0}, 100}}, 1, 1000);
  tuner.record({7});
  EXPECT_EQ(tuner.depths()[0], 50u);
  while (!tuner.done()) tuner.record({0.01 * static_cast<double>(tuner.depths()[0])});
  EXPECT_EQ(tuner.depths()[0], 99u);
}

TEST(DepthTuner, LeavesOutDevicesWithoutAQueue) {
  int rounds = 0;
  EXPECT_EQ(tuned({kV100, kKunpeng}, 1, 1, {40, 0}, &rounds), (std::vector<uint64_t>{40, 0}));
  EXPECT_EQ(tuned({kKunpeng}, 1, 0.5, {0}, &rounds), (std::vector<uint64_t>{0}));
  EXPECT_EQ(rounds, 0);
}

TEST(DepthTuner, TunesDepthsByRounds) {
  std::vector<DepthTuner::Device> start = {{{0.018, 0.27}, 44}, {{0.084, 0.32}, 8}};
  int rounds = 0;
  auto depths = tune_depths(start, 1, 1000, [&](const std::vector<uint64_t>& now) {
    ++rounds;
    return std::vector<double>{0.018 * static_cast<double>(now[0]) + 0.27,
                               0.084 * static_cast<double>(now[1]) + 0.32};
  });
  EXPECT_EQ(depths, (std::vector<uint64_t>{40, 8}));
  EXPECT_LT(rounds, 5);
  // A device without depth has no round.
  start = {{{0.018, 0.27}, 0}, {{0.084, 0.32}, 0}};
  auto never = [](const std::vector<uint64_t>&) {
    ADD_FAILURE() << "there is nothing to measure";
    return std::vector<double>{0, 0};
  };
  EXPECT_EQ(tune_depths(start, 1, 1000, never), (std::vector<uint64_t>{0, 0}));
}

TEST(DepthTuner, EndsForAnyRecordedTimes) {
  std::mt19937_64 random(5);
  for (int run = 0; run < 100; ++run) {
    DepthTuner tuner({{{0.01, 0.1}, 60}, {{0.1, 0.1}, 5}}, 1, 100);
    int rounds = 0;
    while (!tuner.done() && rounds < 10'000) {
      tuner.record({static_cast<double>(random() % 1100) * 1e-3,
                    static_cast<double>(random() % 1100) * 1e-3});
      ++rounds;
    }
    EXPECT_LT(rounds, 10'000);
  }
}

}  // namespace
}  // namespace hearth
