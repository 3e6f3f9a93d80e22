// Tests of measuring schedules on an engine: which schedules are tried and kept, and how a search
// continues with the results of a file. The machine decides which schedule wins, and no test
// depends on it.
#include "tune/schedule_tuner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tune/joint_tuner.h"
#include "tuner_test.h"

namespace hearth {
namespace {

class ScheduleTunerTest : public TunerTest {
 protected:
  ScheduleTunerTest() : TunerTest({.sequences = {1, 3}, .depth = 20, .prompts = {24, 30}}, 2) {}
  bool tune() { return ScheduleTuner(*engine_, machine_, cases_, *timer_, hooks_).tune(&tuned_); }

  // Expects the same division of K in all steps of a phase.
  void expect_one_dealing() const {
    for (const ProductCase& one : product_cases(*engine_, cases_)) {
      std::vector<uint32_t> parts;
      for (const TunedProduct& product : tuned_.products) {
        const ScheduleEntry& entry = product.entry;
        if (entry.product != one.use.shape || entry.schedule.is_default()) continue;
        if (std::ranges::count(one.rows, entry.max_rows) == 0) continue;
        parts.push_back(entry.schedule.k_parts);
      }
      if (parts.empty()) continue;
      EXPECT_EQ(std::ranges::count(parts, parts[0]), std::ssize(parts));
      EXPECT_LE(parts[0], one.use.segments);
    }
  }

  Tuned tuned_;
};

TEST_F(ScheduleTunerTest, ProductsHaveTheRowsOfThePhasesThatUseThem) {
  const std::vector<ProductCase> cases = product_cases(*engine_, cases_);
  const Graph& decode = engine_->graph(Phase::kDecode);
  for (const ProductUse& use : decode.products()) {
    std::vector<uint32_t> rows;
    for (const ProductCase& one : cases) {
      if (one.use.shape != use.shape) continue;
      rows.insert(rows.end(), one.rows.begin(), one.rows.end());
      EXPECT_GE(one.use.segments, use.segments);
    }
    // Decode and prefill have the same threads here, so one shape has the rows of both. The head
    // has one row for each sequence, so only 1 or 3.
    EXPECT_EQ(rows, use.of_outputs ? std::vector<uint32_t>({1, 3})
                                   : std::vector<uint32_t>({1, 3, 24, 30}));
  }
  const auto dealt =
      std::ranges::count_if(cases, [](const ProductCase& one) { return one.use.segments > 1; });
  EXPECT_GT(dealt, 0) << "o and down";
}

TEST_F(ScheduleTunerTest, RowsBelongToThePhaseThatTheirStepsRunUnder) {
  auto rows_of = [&](Phase phase) {
    std::set<uint32_t> rows;
    for (const ProductCase& one : product_cases(*engine_, cases_)) {
      if (one.phase == phase && !one.use.of_outputs) rows.insert(one.rows.begin(), one.rows.end());
    }
    return rows;
  };
  EnginePlan plan = engine_->plan();
  plan.decode.max_rows = 2;
  engine_->set_plan(plan);
  EXPECT_EQ(rows_of(Phase::kDecode), (std::set<uint32_t>{1}));
  EXPECT_EQ(rows_of(Phase::kPrefill), (std::set<uint32_t>{3, 24, 30}));
  plan.decode.max_rows = 24;
  engine_->set_plan(plan);
  EXPECT_EQ(rows_of(Phase::kDecode), (std::set<uint32_t>{1, 3, 24}));
  EXPECT_EQ(rows_of(Phase::kPrefill), (std::set<uint32_t>{30}));
}

TEST_F(ScheduleTunerTest, FoundSchedulesAreOnTheMenuAndGain) {
  std::vector<double> attention;
  hooks_.progress = [&](const TuneProgress& at) {
    EXPECT_LT(at.done, at.all);
    EXPECT_LE(at.part, 1);
    if (at.unit == std::string("attention")) attention.push_back(at.part);
  };
  ASSERT_TRUE(tune());
  ASSERT_FALSE(attention.empty());
  EXPECT_GT(attention.back(), attention.front()) << "it takes its time, too";
  size_t expected = 0;
  for (const ProductCase& one : product_cases(*engine_, cases_)) expected += one.rows.size();
  EXPECT_EQ(tuned_.products.size(), expected);
  EXPECT_EQ(tuned_.steps.size(), 4u);
  EXPECT_GE(saved_, 5u);
  const Kernels& kernels = kernels_for(engine_->isa());
  check_schedules(tuned_schedules(tuned_), kernels);
  for (const TunedProduct& product : tuned_.products) {
    EXPECT_GT(product.trials, 0u);
    if (product.entry.schedule.is_default()) {
      EXPECT_EQ(product.cost, TimeRatio());
    } else {
      EXPECT_LE(product.cost.high, 0.99);
    }
  }
  for (const TunedStep& step : tuned_.steps) {
    EXPECT_LE(step.cost.ratio, 1);
    EXPECT_LE(step.trials, 20u);
    EXPECT_TRUE(step.confirmed);
  }
  ASSERT_TRUE(tuned_.attend);
  EXPECT_EQ(tuned_.attend->tried.size(), 1u) << "20 positions are one span";
  EXPECT_EQ(tuned_.attend->confirmed.schedule, tuned_.attend->schedule);
  EXPECT_TRUE(engine_->options().schedules.empty()) << "the engine goes on as before";
  expect_one_dealing();
  // A second search has nothing left to measure.
  const Tuned before = tuned_;
  const uint32_t saved = saved_;
  ASSERT_TRUE(tune());
  EXPECT_EQ(tuned_, before);
  EXPECT_EQ(saved_, saved);
  // Searching a product again keeps the results for attention.
  tuned_.products.pop_back();
  ASSERT_TRUE(tune());
  EXPECT_EQ(tuned_.products.size(), expected);
  EXPECT_EQ(tuned_.attend, before.attend);
}

// Steps show the gain of products. If no product has a schedule of its own, no step is timed for
// them.
TEST_F(ScheduleTunerTest, GainsOfAttentionAreNotCreditedToProducts) {
  for (const ProductCase& one : product_cases(*engine_, cases_)) {
    for (uint32_t rows : one.rows) tuned_.products.push_back({{one.use.shape, rows, {}}, {}, 1});
  }
  tuned_.attend = {
      .schedule = {.places = 4}, .cost = {0.9, 0.8, 0.95}, .trials = 9, .tried = {{.places = 4}}};
  ASSERT_TRUE(tune());
  ASSERT_EQ(tuned_.steps.size(), 4u);
  for (const TunedStep& step : tuned_.steps) EXPECT_EQ(step.trials, 0u);
}

TEST_F(ScheduleTunerTest, StoppingLosesTheProductUnderWay) {
  hooks_.stop = [&](double) { return saved_ == 2; };
  EXPECT_FALSE(tune());
  const std::vector<TunedProduct> before = tuned_.products;
  EXPECT_FALSE(before.empty());
  EXPECT_TRUE(tuned_.steps.empty());
  hooks_.stop = [](double) { return false; };
  ASSERT_TRUE(tune());
  ASSERT_GT(tuned_.products.size(), before.size());
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(tuned_.products[i].trials, before[i].trials) << i;
    EXPECT_EQ(tuned_.products[i].entry.product, before[i].entry.product) << i;
  }
}

class ExpertTunerTest : public TunerTest {
 protected:
  ExpertTunerTest()
      : TunerTest({.sequences = {1, 8}, .depth = 20, .prompts = {32}}, 2, tiny_qwen3moe({})) {}
};

// A token takes two of eight experts. In steps of 8 tokens an expert has 2 rows on average, in
// steps of 32 eight.
TEST_F(ExpertTunerTest, ExpertsAreTunedByTheRowsThatTheyHave) {
  std::vector<uint32_t> rows;
  std::set<uint32_t> outputs;
  for (const ProductCase& one : product_cases(*engine_, cases_)) {
    if (one.use.shape.of_experts == 0) continue;
    EXPECT_EQ(one.use.shape.of_experts, 8u);
    EXPECT_EQ(one.use.shape.matrices, 2u);
    outputs.insert(one.use.shape.outputs);
    if (one.use.shape.outputs == 48) rows.insert(rows.end(), one.rows.begin(), one.rows.end());
  }
  EXPECT_EQ(outputs, (std::set<uint32_t>{48, 64})) << "gate and up, and down";
  EXPECT_EQ(rows, (std::vector<uint32_t>{1, 2, 4, 8, 16, 32}));

  Tuned tuned;
  ASSERT_TRUE(ScheduleTuner(*engine_, machine_, cases_, *timer_, hooks_).tune(&tuned));
  size_t of_experts = 0;
  for (const TunedProduct& product : tuned.products) {
    of_experts += product.entry.product.of_experts > 0 ? 1 : 0;
    EXPECT_GT(product.trials, 0u);
  }
  EXPECT_EQ(of_experts, 2 * rows.size());
  EXPECT_EQ(tuned.steps.size(), 3u);
  const std::string text = tuned_text(tuned);
  EXPECT_EQ(tuned_text(parse_tuned(text, "tuned")), text);
}

class LatentTunerTest : public TunerTest {
 protected:
  LatentTunerTest()
      : TunerTest({.sequences = {1, 3}, .depth = 20, .prompts = {24}}, 2, tiny_deepseek2({})) {}
};

// Each of four heads has queries of 16 + 8 elements, a key latent of 48 and values of 16.
TEST_F(LatentTunerTest, HeadsProductsAreTunedSideBySide) {
  std::set<uint32_t> outputs;
  for (const ProductCase& one : product_cases(*engine_, cases_)) {
    if (one.use.shape.matrices == 1) continue;
    EXPECT_EQ(one.use.shape.matrices, 4u);
    EXPECT_EQ(one.use.task_panels, one.use.shape.outputs / kPanelRows) << "a head is a task";
    outputs.insert(one.use.shape.outputs);
  }
  EXPECT_EQ(outputs, (std::set<uint32_t>{16, 32, 48}));
  Tuned tuned;
  ASSERT_TRUE(ScheduleTuner(*engine_, machine_, cases_, *timer_, hooks_).tune(&tuned));
  check_schedules(tuned_schedules(tuned), kernels_for(engine_->isa()));
}

class JointTunerTest : public TunerTest {
 protected:
  JointTunerTest() : TunerTest({.sequences = {1, 3}, .depth = 20, .prompts = {24}}, 2) {
    Plan two = engine_->plan().decode;
    two.groups = {{{0}, {0, 1, 0, 2}}, {{1}, {0, 1, 1, 2}}};
    Plan one = engine_->plan().decode;
    one.groups = {{{0}, {0, 1, 0, 1}}};
    candidates_ = {engine_->plan().decode, two, one};
  }
  std::optional<JointResult> tune(size_t candidates) {
    ScheduleTuner kernels(*engine_, machine_, cases_, *timer_, hooks_);
    const std::vector<Plan> some(candidates_.begin(), candidates_.begin() + candidates);
    return JointTuner(*engine_, engine_->plan(), *timer_, kernels, hooks_).tune(some, &tuned_);
  }
  std::set<uint32_t> threads_searched_for() const {
    std::set<uint32_t> threads;
    for (const TunedProduct& product : tuned_.products) {
      threads.insert(product.entry.product.threads);
      EXPECT_LE(product.entry.max_rows, 16u) << "prefill's are another phase's";
    }
    return threads;
  }

  std::vector<Plan> candidates_;
  Tuned tuned_;
};

TEST_F(JointTunerTest, BothPlansGetKernelsOfTheirOwn) {
  const EnginePlan before = engine_->plan();
  const std::optional<JointResult> found = tune(2);
  ASSERT_TRUE(found);
  EXPECT_EQ(threads_searched_for(), (std::set<uint32_t>{1, 2}));
  if (found->best == candidates_[0]) {
    EXPECT_EQ(found->cost, TimeRatio());
  } else {
    EXPECT_EQ(found->best, candidates_[1]);
    EXPECT_LE(found->cost.high, 0.99);
  }
  EXPECT_EQ(engine_->plan().decode, before.decode) << "the engine goes on as before";
  EXPECT_TRUE(engine_->options().schedules.empty());
  // A second search finds the result for these candidates in `tuned_`.
  ASSERT_EQ(tuned_.joints.size(), 1u);
  const uint32_t saved = saved_;
  const std::optional<JointResult> again = tune(2);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->best, found->best);
  EXPECT_EQ(saved_, saved);
}

TEST_F(JointTunerTest, SearchesTheBestTwoOfThree) {
  ASSERT_TRUE(tune(3));
  EXPECT_EQ(tuned_.joints.size(), 1u);
  EXPECT_FALSE(tuned_.products.empty());
  EXPECT_TRUE(tuned_.steps.empty()) << "whoever tunes kernels for what won times these";
}

TEST_F(JointTunerTest, ItsShareOfTheTimeEndsSearchesToo) {
  ScheduleTuner kernels(*engine_, machine_, cases_, *timer_, hooks_);
  TuneHooks share = hooks_;
  share.stop = [&](double) { return saved_ == 2; };
  JointTuner tuner(*engine_, engine_->plan(), *timer_, kernels, share);
  EXPECT_FALSE(tuner.tune({candidates_[0], candidates_[1]}, &tuned_));
  EXPECT_EQ(saved_, 2u);
  // Searches of kernels have hooks of their own, which do not stop them.
  EXPECT_TRUE(kernels.tune(&tuned_));
  EXPECT_EQ(tuned_.steps.size(), 3u);
}

TEST_F(JointTunerTest, ProductsOfAnotherPlanAreSetApartFromThoseInUse) {
  ASSERT_TRUE(tune(2));
  // The engine has its first plan again, in which each product has two threads.
  ASSERT_TRUE(ScheduleTuner(*engine_, machine_, cases_, *timer_, hooks_).tune(&tuned_));
  EXPECT_FALSE(tuned_.products.empty());
  for (const TunedProduct& product : tuned_.products) EXPECT_EQ(product.entry.product.threads, 2u);
  EXPECT_FALSE(tuned_.others.empty());
  for (const TunedProduct& product : tuned_.others) EXPECT_EQ(product.entry.product.threads, 1u);
}

TEST_F(JointTunerTest, StoppingKeepsTheProductsFound) {
  hooks_.stop = [&](double) { return saved_ == 2; };
  EXPECT_FALSE(tune(2));
  EXPECT_FALSE(tuned_.products.empty());
  EXPECT_TRUE(tuned_.joints.empty());
}

}  // namespace
}  // namespace hearth
