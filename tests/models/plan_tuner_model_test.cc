// Tests of measuring plans on an engine: which plans are tried and kept, and how a search continues
// with the trials of a file. The machine decides which plan wins, and no test depends on it.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tune/plan_pairs.h"
#include "tune/plan_tuner.h"
#include "tune/schedule_tuner.h"
#include "tune/time_budget.h"
#include "tuner_test.h"

namespace hearth {
namespace {

class PlanTunerTest : public TunerTest {
 protected:
  PlanTunerTest() : TunerTest({.sequences = {1, 3}, .depth = 20, .prompts = {7, 30}}, 4) {
    for (uint32_t members : {1u, 2u, 3u}) {
      Plan plan = engine_->plan().decode;
      plan.groups = {{member_range(0, members), {0, 1, 0, 1}}};
      candidates_.push_back({plan, 1});
    }
    // The default is among the candidates. It is not measured, since it is what the others are
    // compared with.
    candidates_.push_back({engine_->plan().decode, 1});
  }

  std::vector<PlanTrial> candidates_;
};

TEST_F(PlanTunerTest, MeasuresEachCandidateOnceAndKeepsIt) {
  const EnginePlan before = engine_->plan();
  Tuned tuned;
  bool whole = false;
  std::vector<TuneProgress> reported;
  hooks_.progress = [&](const TuneProgress& at) { reported.push_back(at); };
  const Plan chosen =
      PlanTuner(*engine_, *timer_, hooks_).tune(Phase::kDecode, candidates_, 4, &tuned, &whole);
  EXPECT_TRUE(whole);
  EXPECT_EQ(saved_, 3u);
  ASSERT_EQ(tuned.trials.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    const TunedTrial& trial = tuned.trials[i];
    EXPECT_EQ(trial.plan, plan_hash(candidates_[i].plan));
    EXPECT_LE(trial.cost.low, trial.cost.ratio);
    EXPECT_LE(trial.cost.ratio, trial.cost.high);
    EXPECT_GT(trial.cost.low, 0) << "three pairs at least";
  }
  ASSERT_EQ(tuned.phases.size(), 1u);
  EXPECT_EQ(tuned.phases[0].trials, reported.size());
  EXPECT_GE(reported.size(), 9u);
  EXPECT_LE(reported.size(), 12u);
  // The chosen plan is the default, or saves at least 1 % with certainty.
  if (chosen.groups == before.decode.groups) {
    EXPECT_EQ(tuned.phases[0].cost, TimeRatio());
  } else {
    EXPECT_LE(tuned.phases[0].cost.high, 0.99);
  }
  EXPECT_EQ(engine_->plan().decode, before.decode) << "the engine goes on as before";
  // A second search has nothing left to measure, and chooses the same.
  const uint32_t saved = saved_;
  const Plan again =
      PlanTuner(*engine_, *timer_, hooks_).tune(Phase::kDecode, candidates_, 4, &tuned, &whole);
  EXPECT_EQ(saved_, saved);
  EXPECT_EQ(again, chosen);
  EXPECT_EQ(tuned.trials.size(), 3u);
}

// The times are invented: with the other plan one case takes half as long, and one takes 1.2 times
// as long.
TEST_F(PlanTunerTest, CasesCountAlikeHoweverLongTheyTake) {
  const EnginePlan first = engine_->plan(), other = with_plan(first, candidates_[0].plan);
  PlanPairs pairs(*engine_, hooks_, [&] {
    const bool is_first = engine_->plan().decode == first.decode;
    return is_first ? std::vector<double>{1, 100} : std::vector<double>{0.5, 120};
  });
  const std::optional<PlanPairs::Comparison> compared = pairs.compare({first}, {other}, 20, {});
  ASSERT_TRUE(compared);
  EXPECT_NEAR(compared->cost.ratio, 0.85, 1e-9);
  EXPECT_NEAR(compared->dearest, 1.2, 1e-9);
}

TEST_F(PlanTunerTest, PairsThatTheHostDisturbsAreMadeAgain) {
  const EnginePlan first = engine_->plan(), other = with_plan(first, candidates_[0].plan);
  uint32_t calls = 0, disturbed = 0;
  hooks_.watch_host = [&] {
    return [&](double seconds, uint32_t threads) {
      EXPECT_GE(seconds, 0);
      EXPECT_EQ(threads, engine_->threads());
      if (disturbed == 0) return true;
      --disturbed;
      return false;
    };
  };
  PlanPairs pairs(*engine_, hooks_, [&] {
    ++calls;
    return std::vector<double>{1};
  });
  const std::optional<PlanPairs::Comparison> quiet = pairs.compare({first}, {other}, 4, {});
  ASSERT_TRUE(quiet);
  EXPECT_EQ(calls, 2 * quiet->pairs);
  for (auto [times, repeats] : {std::pair{1u, 1u}, {3u, 3u}}) {
    calls = 0;
    disturbed = times;
    const std::optional<PlanPairs::Comparison> found = pairs.compare({first}, {other}, 4, {});
    ASSERT_TRUE(found);
    EXPECT_EQ(found->pairs, quiet->pairs);
    EXPECT_EQ(calls, 2 * (found->pairs + repeats));
  }
  // A pair that is disturbed four times counts as it is.
  calls = 0;
  disturbed = 4;
  ASSERT_TRUE(pairs.compare({first}, {other}, 4, {}));
  EXPECT_EQ(calls, 2 * (quiet->pairs + 3));
  EXPECT_EQ(disturbed, 0u);
}

TEST_F(PlanTunerTest, GroupsAreTriedInLockstepToo) {
  Plan two = engine_->plan().decode;
  two.groups = {{{0, 1}, {0, 1, 0, 2}}, {{2, 3}, {0, 1, 1, 2}}};
  Plan in_lockstep = two;
  in_lockstep.sync = GroupSync::kLockstep;
  auto tune = [&](const TimeRatio& of_two, const std::optional<TimeRatio>& of_lockstep) {
    Tuned tuned;
    bool whole = false;
    tuned.trials = {{Phase::kDecode, plan_hash(two), of_two}};
    if (of_lockstep) tuned.trials.push_back({Phase::kDecode, plan_hash(in_lockstep), *of_lockstep});
    const Plan chosen =
        PlanTuner(*engine_, *timer_, hooks_).tune(Phase::kDecode, {{two, 1}}, 3, &tuned, &whole);
    EXPECT_TRUE(whole);
    return std::pair(chosen, tuned.trials);
  };
  const TimeRatio saves{0.9, 0.85, 0.95}, saves_more{0.8, 0.75, 0.85}, stays{1, 0.9, 1.1};
  EXPECT_EQ(tune(saves, saves_more).first, in_lockstep);
  EXPECT_EQ(tune(saves_more, saves).first, two);
  EXPECT_EQ(tune(saves, stays).first, two);
  // The other GroupSync is measured only if its result is unknown and the best plan has several
  // groups.
  ASSERT_EQ(tune(saves, {}).second.size(), 2u);
  EXPECT_EQ(tune(saves, {}).second[1].plan, plan_hash(in_lockstep));
  EXPECT_EQ(tune(stays, {}).second.size(), 1u) << "the default is one group";
}

TEST_F(PlanTunerTest, StoppingLosesOnePlan) {
  Tuned tuned;
  bool whole = true;
  hooks_.stop = [&](double) { return saved_ == 1; };
  PlanTuner(*engine_, *timer_, hooks_).tune(Phase::kDecode, candidates_, 4, &tuned, &whole);
  EXPECT_FALSE(whole);
  EXPECT_LT(tuned.trials.size(), 3u);
  EXPECT_EQ(saved_, tuned.trials.size());
  hooks_.stop = [](double) { return false; };
  PlanTuner(*engine_, *timer_, hooks_).tune(Phase::kDecode, candidates_, 4, &tuned, &whole);
  EXPECT_TRUE(whole);
  EXPECT_EQ(tuned.trials.size(), 3u);
}

TEST_F(PlanTunerTest, PrefillRunsPrompts) {
  Tuned tuned;
  bool whole = false;
  for (PlanTrial& candidate : candidates_) {
    candidate.plan.phase = Phase::kPrefill;
    candidate.plan.max_rows = engine_->plan().prefill.max_rows;
  }
  PlanTuner(*engine_, *timer_, hooks_).tune(Phase::kPrefill, candidates_, 3, &tuned, &whole);
  EXPECT_TRUE(whole);
  ASSERT_EQ(tuned.trials.size(), 3u);
  EXPECT_EQ(tuned.trials[0].phase, Phase::kPrefill);
}

// Only trials advance the clock. They take 7 s with either plan.
TEST_F(PlanTunerTest, PairsEndWithinTheBudget) {
  double now = 500;
  hooks_.clock = [&] { return now; };
  std::vector<double> cost{1, 1.02};
  size_t trial = 0;
  const auto time = [&] {
    now += 7;
    return std::vector<double>{cost[trial++ % 2]};
  };
  for (double about : {0.0, 7.0}) {
    for (double seconds : {40.0, 100.0, 150.0}) {
      const TimeBudget budget(seconds, hooks_.clock);
      hooks_.stop = [&](double next) { return budget.is_over(next); };
      const double begun = now;
      PlanPairs pairs(*engine_, hooks_, time, about);
      const EnginePlan plan = engine_->plan();
      EXPECT_FALSE(pairs.compare({plan}, {plan}, 64, {"decode", "plan", 0, 1, 0, 64}));
      EXPECT_LE(now - begun, 1.1 * seconds);
      EXPECT_GE(now - begun, seconds - 14);
    }
  }
  // A pair that needs more time than is left is not begun.
  const TimeBudget budget(100, hooks_.clock);
  hooks_.stop = [&](double next) { return budget.is_over(next); };
  const double begun = now;
  PlanPairs pairs(*engine_, hooks_, time, 60);
  EXPECT_FALSE(
      pairs.compare({engine_->plan()}, {engine_->plan()}, 64, {"decode", "plan", 0, 1, 0, 64}));
  EXPECT_EQ(now, begun);
}

TEST_F(PlanTunerTest, TheTimerKnowsByEarlierStepsWhatOthersTake) {
  EXPECT_EQ(timer_->about_prompt(30), 0);
  EXPECT_EQ(timer_->about_cases(Phase::kDecode, 16), 0);
  const double took = timer_->prompt(7);
  EXPECT_EQ(timer_->about_prompt(7), took);
  EXPECT_DOUBLE_EQ(timer_->about_prompt(14), 2 * took);
  EXPECT_NEAR(timer_->about_filling(), 3 * 20 * took / 7, 1e-9);
  const double steps = timer_->decode(1);
  EXPECT_NEAR(timer_->about_filling(), 2 * 20 * took / 7, 1e-9);
  EXPECT_NEAR(timer_->about_decode(1), 1.25 * steps, 1e-9) << "one of five is not timed";
  EXPECT_NEAR(timer_->about_cases(Phase::kDecode, 2), 1.25 * steps, 1e-9);
  EXPECT_NEAR(timer_->about_cases(Phase::kDecode, 3), 2 * 1.25 * steps, 1e-9);
}

// An encoder is tuned for texts; short texts take the place of decode.
class EncoderTunerTest : public TunerTest {
 protected:
  EncoderTunerTest()
      : TunerTest({.sequences = {1, 3}, .depth = 20, .prompts = {30, 600}}, 2,
                  tiny_bert({.heads = 4, .ffn = 128})) {}
};

TEST_F(EncoderTunerTest, TextsTakeThePlaceOfPromptsAndDecode) {
  EXPECT_EQ(cases_.sequences, (std::vector<uint32_t>{4, 16}));
  EXPECT_EQ(cases_.prompts, (std::vector<uint32_t>{30, 512})) << "a text has one step";
  EXPECT_GT(timer_->decode(4), 0);
  EXPECT_GT(timer_->prompt(512), 0);
  Tuned tuned;
  for (Phase phase : {Phase::kDecode, Phase::kPrefill}) {
    Plan two = engine_->plan().of(phase);
    two.groups = {{{0}, {0, 1, 0, 2}}, {{1}, {0, 1, 1, 2}}};
    bool whole = false;
    PlanTuner(*engine_, *timer_, hooks_).tune(phase, {{two, 1}}, 3, &tuned, &whole);
    EXPECT_TRUE(whole);
  }
  EXPECT_GE(tuned.trials.size(), 2u);
  std::set<uint32_t> rows;
  for (const ProductCase& product : product_cases(*engine_, cases_)) {
    rows.insert(product.rows.begin(), product.rows.end());
  }
  EXPECT_EQ(rows, (std::set<uint32_t>{4, 16, 30, 512}));
}

}  // namespace
}  // namespace hearth
