#include "tune/whole_team.h"

#include <gtest/gtest.h>

#include "engine/engine_options.h"

namespace hearth {
namespace {

using Numbers = std::vector<uint32_t>;

Numbers pus_at_work(const EnginePlan& plan, Phase phase) {
  Numbers pus;
  for (uint32_t m : plan.of(phase).working_members()) pus.push_back(plan.placement.seats[m].pu);
  std::sort(pus.begin(), pus.end());
  return pus;
}

TEST(WholeTeam, HasAThreadOnEveryPu) {
  const Machine machine = Machine::from_synthetic("numa:2 core:4 pu:2");
  const EnginePlan plan = plan_engine(machine, {});
  ASSERT_EQ(plan.placement.seats.size(), 7u) << "one core of eight is spared";
  const EnginePlan whole = with_all_pus(machine, plan);
  check_engine_plan(whole);
  EXPECT_EQ(whole.placement.seats.size(), 16u);
  EXPECT_EQ(whole.decode.member_shards, (Numbers{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(whole.shares, plan.shares) << "no bit changes";
  for (Phase phase : {Phase::kPrefill, Phase::kDecode}) {
    EXPECT_EQ(pus_at_work(whole, phase), pus_at_work(plan, phase));
    EXPECT_EQ(whole.of(phase).group_count(), plan.of(phase).group_count());
  }
  EXPECT_EQ(without_resting(whole).placement.seats, plan.placement.seats);
  EXPECT_EQ(without_resting(whole).decode, plan.decode);
}

// The order of the threads is the same for all plans. So a stored plan fits the engine of the next
// tuning.
TEST(WholeTeam, SeatsKeepOneOrderForAnyMembers) {
  const Machine machine = Machine::from_synthetic("numa:2 core:4 pu:2");
  const EnginePlan whole = with_all_pus(machine, plan_engine(machine, {}));
  EnginePlan other = whole;
  other.decode.groups[0].members = {1, 5};
  other.prefill.groups[1].members = {12};
  const EnginePlan kept = without_resting(other);
  check_engine_plan(kept);
  EXPECT_LT(kept.placement.seats.size(), 16u);
  const EnginePlan again = with_all_pus(machine, kept);
  EXPECT_EQ(again.placement.seats, whole.placement.seats);
  EXPECT_EQ(again.decode, other.decode);
  EXPECT_EQ(again.prefill, other.prefill);
}

TEST(WholeTeam, LeavesNoNodeWithoutAThread) {
  const Machine machine = Machine::from_synthetic("numa:2 core:2 pu:1");
  EnginePlan plan = plan_engine(machine, {});
  for (Phase phase : {Phase::kPrefill, Phase::kDecode}) {
    plan.of(phase).groups = {{{0}, {0, 2, 0, 1}}};
  }
  const EnginePlan kept = without_resting(plan);
  check_engine_plan(kept);
  EXPECT_EQ(kept.decode.member_shards, (Numbers{0, 1}));
}

}  // namespace
}  // namespace hearth
