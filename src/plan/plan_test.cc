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
  EXPECT_EQ(parts.groups[0], (PlanGroup{{0, 1}, {0, 1, 0, 2}}));
  EXPECT_EQ(parts.groups[1], (PlanGroup{{2, 3}, {0, 1, 1, 2}}));
  EXPECT_EQ(parts.groups[2], (PlanGroup{{4, 5}, {1, 2, 0, 1}}));
  Plan wide = make_plan(Phase::kDecode, 1, {0, 1, 2, 2}, 3, 2);
  ASSERT_EQ(wide.groups.size(), 2u);
  EXPECT_EQ(wide.groups[0], (PlanGroup{{0}, {0, 1, 0, 1}}));
  EXPECT_EQ(wide.groups[1], (PlanGroup{{1, 2, 3}, {1, 3, 0, 1}}));
  Plan far = make_plan(Phase::kDecode, 1, {1, 1}, 2, 1);
  EXPECT_EQ(far.groups[0], (PlanGroup{{0, 1}, {0, 2, 0, 1}})) << "a shard without threads";
}

TEST(Plan, MembersMayRest) {
  Plan plan = even_plan(Phase::kDecode, 4, 2, 2, 8);
  plan.groups[0].members = {2, 3, 7};
  plan.groups[1].members = {1, 5};
  EXPECT_EQ(parse_plan(plan_text(plan)), plan) << plan_text(plan);
  EXPECT_EQ(plan.member_count(), 8u);
  EXPECT_EQ(plan.worker_count(), 5u);
  EXPECT_EQ(plan.working_members(), (std::vector<uint32_t>{1, 2, 3, 5, 7}));
}

// Groups name their members as ranges in plans of version 1.
TEST(Plan, ReadsVersion1) {
  const std::string head = "hearth-plan 1\nphase prefill\nmax_rows 512\nmember_shards 0 0 0\n";
  Plan plan = parse_plan(head +
                         "group members 0 2 shards 0 1 part 0 2\n"
                         "group members 2 3 shards 0 1 part 1 2\n");
  EXPECT_EQ(plan.groups[0], (PlanGroup{{0, 1}, {0, 1, 0, 2}}));
  EXPECT_EQ(plan.groups[1], (PlanGroup{{2}, {0, 1, 1, 2}}));
  for (const char* bad :
       {"group members 0 2 shards 0 1 part 0 1", "group members 1 3 shards 0 1 part 0 1",
        "group members 0 4 shards 0 1 part 0 1", "group members 0 3 3 shards 0 1 part 0 1",
        "group members 0 999999999 shards 0 1 part 0 1",
        "group members 0 2 shards 0 1 part 0 2\ngroup members 1 3 shards 0 1 part 1 2"}) {
    EXPECT_THROW(parse_plan(head + bad), Error) << bad;
  }
}

std::string refusal(const std::string& text) {
  try {
    parse_plan(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Plan, RefusesListsWithTheirFault) {
  const std::string head = "hearth-plan 2\nphase decode\nmax_rows 1\nmember_shards 0 0 0\n";
  auto with = [&](const std::string& members) {
    return refusal(head + "group members " + members + " shards 0 1 part 0 1");
  };
  EXPECT_EQ(with("0 2"), "accepted");
  EXPECT_EQ(with("2 0"), "the plan has a group whose members are not in ascending order");
  EXPECT_EQ(with("1 1"), "the plan has a group whose members are not in ascending order");
  EXPECT_EQ(with("0 3"), "the plan has member 3 in a group, but member_shards has only 3 members");
  EXPECT_EQ(with(""), "plan line 5 has 'shards' instead of a number");
  EXPECT_EQ(with("0 x"), "plan line 5 has 'x' instead of a number");
  EXPECT_EQ(refusal(head + "group members 0 1"), "plan line 5 is incomplete");
  EXPECT_EQ(refusal(head + "group members 0 1 shards 0 1 part 0 2\n" +
                    "group members 1 2 shards 0 1 part 1 2"),
            "the plan has member 1 in two groups");
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
