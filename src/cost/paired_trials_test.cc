#include "cost/paired_trials.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace hearth {
namespace {

using Verdict = PairedTrials::Verdict;

// Trials on a machine whose speed wanders by 10 % and whose single trials scatter by 2 %.
class WanderingMachine {
 public:
  explicit WanderingMachine(uint32_t seed) : random_(seed) {}
  double trial(double seconds) {
    std::normal_distribution<double> normal;
    wander_ = 0.9 * wander_ + 0.04 * normal(random_);
    return seconds * std::exp(wander_ + 0.02 * normal(random_));
  }

 private:
  std::mt19937 random_;
  double wander_ = 0;
};

Verdict verdict_of(double challenger, uint32_t seed, PairedTrials* trials) {
  WanderingMachine machine(seed);
  return trials->run([&] { return machine.trial(1.0); }, [&] { return machine.trial(challenger); });
}

int falls_of(double challenger) {
  int falls = 0;
  for (uint32_t seed = 1; seed <= 400; ++seed) {
    PairedTrials trials;
    if (verdict_of(challenger, seed, &trials) == Verdict::kFalls) ++falls;
  }
  return falls;
}

TEST(PairedTrials, AnEqualOrSlowerChallengerHardlyEverWins) {
  EXPECT_EQ(falls_of(1.05), 0);
  // A challenger that is exactly 1 % faster is at the limit. There at most 5 % of the verdicts may
  // be wrong, which are 20 of 400. Of a thousand sets of seeds, 999 have at most 33.
  EXPECT_LE(falls_of(1.0), 4);
  EXPECT_LE(falls_of(0.99), 33);
}

TEST(PairedTrials, AFasterOneWins) {
  EXPECT_GE(falls_of(0.95), 320);
  EXPECT_EQ(falls_of(0.8), 400);
}

TEST(PairedTrials, OnePairDoesNotDecide) {
  PairedTrials one(1);
  one.add(2, 1);
  EXPECT_NEAR(one.ratio().ratio, 0.5, 1e-12);
  EXPECT_EQ(one.ratio().low, 0);
  EXPECT_TRUE(std::isinf(one.ratio().high));
  EXPECT_EQ(one.verdict(), Verdict::kStays);
}

TEST(PairedTrials, ClearCasesTakeFewPairs) {
  PairedTrials faster, slower;
  EXPECT_EQ(verdict_of(0.7, 1, &faster), Verdict::kFalls);
  EXPECT_EQ(faster.pairs(), PairedTrials::kMinPairs);
  EXPECT_LT(faster.ratio().low, 0.7 + 0.05);
  EXPECT_GT(faster.ratio().high, 0.7 - 0.05);
  EXPECT_EQ(verdict_of(1.3, 1, &slower), Verdict::kStays);
  EXPECT_EQ(slower.pairs(), PairedTrials::kMinPairs);
}

TEST(PairedTrials, UndecidedTrialsEndAtTheMaximumOfPairs) {
  // These alternating ratios give an interval that contains the limit of 1 % faster, so there is no
  // verdict.
  PairedTrials trials(20);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(trials.verdict(), Verdict::kOpen) << i;
    trials.add(1, i % 2 == 0 ? 0.9 : 1.08);
  }
  EXPECT_EQ(trials.verdict(), Verdict::kStays);
}

TEST(PairedTrials, TurnsAlternateAndDisturbedTrialsAreRepeated) {
  std::string order;
  int calls = 0;
  PairedTrials trials;
  const Verdict verdict = trials.run(
      [&]() -> std::optional<double> {
        order += 'i';
        return 1.0;
      },
      [&]() -> std::optional<double> {
        order += 'c';
        // Every third trial is disturbed.
        if (++calls % 3 == 0) return std::nullopt;
        return 0.5;
      });
  EXPECT_EQ(verdict, Verdict::kFalls);
  EXPECT_EQ(trials.pairs(), 8u);
  EXPECT_EQ(order.substr(0, 9), "icciiccci") << order;
}

TEST(PairedTrials, AMachineWithoutAQuietMomentChangesNothing) {
  PairedTrials trials;
  EXPECT_EQ(trials.run([] { return std::nullopt; }, [] { return 0.5; }), Verdict::kStays);
  EXPECT_EQ(trials.pairs(), 0u);
}

TEST(PairedTrials, StopsWhenAsked) {
  PairedTrials trials;
  EXPECT_EQ(trials.run([] { return 1.0; }, [] { return 0.5; }, [&] { return trials.pairs() == 3; }),
            Verdict::kOpen);
  EXPECT_EQ(trials.pairs(), 3u);
}

}  // namespace
}  // namespace hearth
