#include "plan/plan.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace hearth {
namespace {

TEST(Plan, TextRoundTrips) {
  for (auto [shards, groups, members] :
       {std::array{1u, 1u, 2u}, std::array{2u, 2u, 5u}, std::array{4u, 1u, 8u},
        std::array{1u, 3u, 7u}, std::array{2u, 4u, 4u}, std::array{4u, 2u, 3u}}) {
    Plan plan = even_plan(Phase::kPrefill, 512, shards, groups, members);
    EXPECT_EQ(parse_plan(plan_text(plan)), plan) << plan_text(plan);
    plan.sync = GroupSync::kLockstep;
    EXPECT_EQ(parse_plan(plan_text(plan)), plan) << plan_text(plan);
    EXPECT_EQ(plan.shard_count(), shards);
    EXPECT_EQ(plan.member_count(), members);
  }
}

TEST(Plan, GroupsLargerAndSmallerThanShards) {
  Plan wide = even_plan(Phase::kDecode, 1, 4, 2, 8);
  EXPECT_EQ(wide.groups[1].share, (GroupShare{2, 4, 0, 1}));
  EXPECT_EQ(wide.member_shards, (std::vector<uint32_t>{0, 0, 1, 1, 2, 2, 3, 3}));
  Plan narrow = even_plan(Phase::kDecode, 1, 2, 4, 4);
  EXPECT_EQ(narrow.groups[3].share, (GroupShare{1, 2, 1, 2}));
}

TEST(Plan, GroupsAndShardsNeedNotDivideEachOther) {
  Plan parts = make_plan(Phase::kDecode, 1, {0, 0, 0, 0, 1, 1}, 2, 3);
  ASSERT_EQ(parts.groups.size(), 3u);
  EXPECT_EQ(parts.groups[0], (PlanGroup{0, 2, {0, 1, 0, 2}}));
  EXPECT_EQ(parts.groups[1], (PlanGroup{2, 4, {0, 1, 1, 2}}));
  EXPECT_EQ(parts.groups[2], (PlanGroup{4, 6, {1, 2, 0, 1}}));
  Plan wide = make_plan(Phase::kDecode, 1, {0, 1, 2, 2}, 3, 2);
  ASSERT_EQ(wide.groups.size(), 2u);
  EXPECT_EQ(wide.groups[0], (PlanGroup{0, 1, {0, 1, 0, 1}}));
  EXPECT_EQ(wide.groups[1], (PlanGroup{1, 4, {1, 3, 0, 1}}));
  Plan far = make_plan(Phase::kDecode, 1, {1, 1}, 2, 1);
  EXPECT_EQ(far.groups[0], (PlanGroup{0, 2, {0, 2, 0, 1}})) << "a shard without threads";
}

TEST(Plan, RefusesWhatCannotBe) {
  EXPECT_THROW(make_plan(Phase::kDecode, 1, {1, 1}, 2, 2), Error) << "a group without threads";
  EXPECT_THROW(even_plan(Phase::kDecode, 1, 1, 3, 2), Error);
  const char* head = "hearth-plan 1\nphase decode\nmax_rows 1\nmember_shards 0\n";
  const char* group = "group members 0 1 shards 0 1 part 0 1";
  EXPECT_EQ(parse_plan(std::string(head) + group).sync, GroupSync::kAsync);
  EXPECT_EQ(parse_plan(std::string(head) + group + "\nsync lockstep").sync, GroupSync::kLockstep);
  EXPECT_THROW(parse_plan(std::string(head) + group + "\nsync"), Error);
  EXPECT_THROW(parse_plan(std::string(head) + group + "\nsync both"), Error);
  for (const char* bad :
       {"group members 0 1 shards 0 1 part 0 2", "group members 0 0 shards 0 1 part 0 1",
        "group members 0 1 shards 0 2 part 0 2", "group members 0 2 shards 0 1 part 0 1",
        "group members 0 1 shards 0", "group members 0 1 shards 0 1 part 0 1 x", "colour blue", "",
        "group members 0 99999999999 shards 0 1 part 0 1"}) {
    EXPECT_THROW(parse_plan(std::string(head) + bad), Error) << bad;
  }
  EXPECT_THROW(parse_plan("plan"), Error);
}

}  // namespace
}  // namespace hearth
