#include "engine/tuned_plan.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

class TunedPlanTest : public testing::Test {
 protected:
  // Makes a result of tuning which found that the decode plan suits steps of up to 32 rows.
  TunedPlanTest() {
    EngineOptions found;
    found.decode_rows = 32;
    tuned_.engine_plan = engine_plan_text(machine_, plan_engine(machine_, found));
    tuned_.phases = {{Phase::kDecode, true, {}, 20}, {Phase::kPrefill, true, {}, 20}};
    tuned_.threshold = {32, {0.9, 0.88, 0.92}, 40};
  }
  uint32_t decode_rows(const EngineOptions& options) const {
    const std::optional<EnginePlan> plan = tuned_plan(tuned_, machine_, options);
    return plan ? plan->decode.max_rows : 0;
  }

  const Machine machine_ = Machine::from_synthetic("numa:1 core:4 pu:1");
  Tuned tuned_;
};

TEST_F(TunedPlanTest, StepsOfAsManyRowsAsWereFoundAreDecodes) {
  EXPECT_EQ(decode_rows({}), 32u);
  EngineOptions options;
  options.prefill_rows = 100;
  EXPECT_EQ(tuned_plan(tuned_, machine_, options)->prefill.max_rows, 100u);
  EXPECT_EQ(decode_rows(options), 32u);
  options.prefill_rows = 20;
  EXPECT_EQ(decode_rows(options), 20u) << "no step has more";
}

TEST_F(TunedPlanTest, GivenRowsReplaceTunedOnes) {
  EngineOptions options;
  options.decode_rows = 5;
  EXPECT_EQ(decode_rows(options), 5u);
}

TEST_F(TunedPlanTest, UnfinishedTuningKeepsTheDefault) {
  tuned_.phases[0].cost = {0.9, 0.8, 0.95};
  tuned_.threshold.reset();
  EXPECT_EQ(decode_rows({}), EngineOptions{}.decode_rows);
}

TEST_F(TunedPlanTest, PlansWithoutGainAreNotUsed) {
  tuned_.threshold->cost = {};
  EXPECT_FALSE(tuned_plan(tuned_, machine_, {}).has_value());
  tuned_.phases[1].cost = {0.9, 0.8, 0.95};
  EXPECT_TRUE(tuned_plan(tuned_, machine_, {}).has_value());
  tuned_.engine_plan.clear();
  EXPECT_FALSE(tuned_plan(tuned_, machine_, {}).has_value());
}

TEST(TunedUse, AppliesWhereNoOptionSetsThePlan) {
  const EngineOptions open;
  EXPECT_TRUE(leaves_plan_open(open));
  auto says = [&](auto set) {
    EngineOptions options = open;
    set(options);
    return !leaves_plan_open(options);
  };
  using Options = EngineOptions&;
  EXPECT_TRUE(says([](Options options) { options.tuned = TunedUse::kNever; }));
  EXPECT_TRUE(says([](Options options) { options.plan.emplace(); }));
  EXPECT_TRUE(says([](Options options) { options.threads = 1; }));
  EXPECT_TRUE(says([](Options options) { options.pus = {0}; }));
  EXPECT_TRUE(says([](Options options) { options.decode_groups = 2; }));
  EXPECT_TRUE(says([](Options options) { options.sync = GroupSync::kLockstep; }));
  EXPECT_TRUE(says([](Options options) { options.experts = ExpertCut::kCut; }));
  EXPECT_TRUE(says([](Options options) { options.interleave = true; }));
  EXPECT_FALSE(says([](Options options) { options.kv_bytes = 1 << 20; }));
  // The seats of a pool that may sit anywhere are replaced, but not its groups.
  EngineOptions pool;
  pool.tuned = TunedUse::kWhole;
  pool.threads = 3;
  pool.pus = {1, 2, 3};
  EXPECT_TRUE(leaves_plan_open(pool));
  pool.prefill_groups = 2;
  EXPECT_FALSE(leaves_plan_open(pool));
}

}  // namespace
}  // namespace hearth
