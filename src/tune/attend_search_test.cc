#include "tune/attend_search.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace hearth {
namespace {

constexpr uint32_t kDeep = 2000, kShallow = 256;

// Answers the comparisons that a search asks for by a list of made-up results, one after the other.
class AttendSearchTest : public testing::Test {
 protected:
  bool search(uint32_t depth, std::vector<std::optional<PlanPairs::Comparison>> answers) {
    asked_.clear();
    auto compare = [&](const AttendSchedule& incumbent, const AttendSchedule& challenger) {
      EXPECT_EQ(incumbent, known_ ? known_->schedule : AttendSchedule());
      asked_.push_back(challenger);
      return asked_.size() > answers.size() ? std::nullopt : answers[asked_.size() - 1];
    };
    return search_attention(
        attend_candidates(1, depth), compare, [&] { ++saved_; }, &known_);
  }

  bool confirm(std::vector<std::optional<PlanPairs::Comparison>> answers) {
    asked_.clear();
    incumbents_.clear();
    auto compare = [&](const AttendSchedule& incumbent, const AttendSchedule& challenger) {
      incumbents_.push_back(incumbent);
      asked_.push_back(challenger);
      return asked_.size() > answers.size() ? std::nullopt : answers[asked_.size() - 1];
    };
    return confirm_attention(
        compare, [&] { ++saved_; }, &known_);
  }

  static constexpr PlanPairs::Comparison kGains{{0.5, 0.5, 0.75}, 0.9, 8};
  static constexpr PlanPairs::Comparison kLittle{{0.98, 0.97, 0.995}, 0.99, 20};
  static constexpr PlanPairs::Comparison kSlowsOne{{0.5, 0.5, 0.75}, 1.02, 10};
  std::vector<AttendSchedule> incumbents_, asked_;
  std::optional<TunedAttend> known_;
  uint32_t saved_ = 0;
};

TEST_F(AttendSearchTest, EachIsHeldAgainstWhatWonBeforeAndSavedAtOnce) {
  EXPECT_FALSE(search(kDeep, {kGains, kSlowsOne, kGains}));
  EXPECT_EQ(asked_, (std::vector<AttendSchedule>{{4, 0}, {4, 2}, {4, 8}, {4, 16}}));
  EXPECT_EQ(saved_, 3u) << "who stops it loses the last one alone";
  ASSERT_TRUE(known_);
  EXPECT_EQ(known_->schedule, (AttendSchedule{4, 8}));
  EXPECT_EQ(known_->trials, 26u);
  EXPECT_EQ(known_->cost, (TimeRatio{0.25, 0.25, 0.5625})) << "as a part of the default's";
  // A second search asks only for the candidate that the first one did not compare.
  EXPECT_TRUE(search(kDeep, {kLittle}));
  EXPECT_EQ(asked_, (std::vector<AttendSchedule>{{4, 16}}));
  EXPECT_EQ(known_->schedule, (AttendSchedule{4, 8})) << "1 % is not certain";
  EXPECT_TRUE(search(kDeep, {}));
  EXPECT_TRUE(asked_.empty());
  EXPECT_EQ(saved_, 4u);
}

TEST_F(AttendSearchTest, AGainMustShowTwice) {
  EXPECT_TRUE(confirm({})) << "nothing was found yet";
  ASSERT_TRUE(search(kDeep, {kGains, kLittle, kLittle, kLittle}));
  EXPECT_FALSE(confirm({})) << "it was stopped";
  EXPECT_TRUE(confirm({kLittle}));
  EXPECT_EQ(incumbents_, (std::vector<AttendSchedule>{{0, 0}}));
  EXPECT_EQ(asked_, (std::vector<AttendSchedule>{{4, 0}}));
  EXPECT_EQ(known_->schedule, (AttendSchedule{4, 0}));
  EXPECT_EQ(known_->cost, kLittle.cost) << "the smaller gain counts";
  EXPECT_EQ(known_->trials, 88u);
  EXPECT_TRUE(confirm({}));
  EXPECT_TRUE(asked_.empty()) << "it is confirmed";
  EXPECT_EQ(saved_, 5u);
}

TEST_F(AttendSearchTest, WhatGainsNoMoreIsTakenBack) {
  for (const PlanPairs::Comparison& loses :
       {kSlowsOne, PlanPairs::Comparison{{1.02, 0.99, 1.05}, 1.005, 20}}) {
    known_ = {.schedule = {4, 0}, .cost = {0.5, 0.5, 0.75}, .trials = 8, .tried = {}};
    EXPECT_TRUE(confirm({loses}));
    EXPECT_TRUE(known_->schedule.is_default());
    EXPECT_EQ(known_->cost, TimeRatio());
    EXPECT_TRUE(confirm({}));
  }
}

TEST_F(AttendSearchTest, AConfirmedValueStaysWhereALaterOneIsTakenBack) {
  known_ = {.schedule = {4, 8}, .cost = {0.25, 0.25, 0.5}, .trials = 8, .tried = {}};
  EXPECT_TRUE(confirm({kGains, kSlowsOne}));
  EXPECT_EQ(incumbents_, (std::vector<AttendSchedule>{{0, 0}, {4, 0}}));
  EXPECT_EQ(asked_, (std::vector<AttendSchedule>{{4, 0}, {4, 8}}));
  EXPECT_EQ(known_->schedule, (AttendSchedule{4, 0}));
  EXPECT_EQ(known_->cost, kGains.cost);
  known_->schedule.tasks = 16;
  known_->cost = {0.25, 0.25, 0.5};
  EXPECT_TRUE(confirm({kLittle}));
  EXPECT_EQ(incumbents_, (std::vector<AttendSchedule>{{4, 0}}));
  EXPECT_EQ(known_->schedule, (AttendSchedule{4, 16}));
  EXPECT_EQ(known_->cost.ratio, 0.5 * 0.98);
}

TEST_F(AttendSearchTest, DeeperCasesAskForWhatShallowOnesCouldNot) {
  EXPECT_TRUE(search(kShallow, {kLittle}));
  EXPECT_EQ(asked_, (std::vector<AttendSchedule>{{4, 0}}));
  EXPECT_TRUE(search(kDeep, {kLittle, kGains, kLittle}));
  EXPECT_EQ(asked_, (std::vector<AttendSchedule>{{0, 2}, {0, 8}, {0, 16}}));
  EXPECT_EQ(known_->schedule, (AttendSchedule{0, 8}));
  EXPECT_TRUE(search(kShallow, {}));
}

TEST_F(AttendSearchTest, AStoredScheduleWithoutTrialsIsComparedWithTheOthers) {
  known_ = {.schedule = {4, 8}, .cost = {0.5, 0.5, 0.75}, .trials = 20, .tried = {}};
  EXPECT_TRUE(search(kDeep, {kLittle, kLittle}));
  EXPECT_EQ(asked_, (std::vector<AttendSchedule>{{4, 2}, {4, 16}}));
  EXPECT_EQ(attend_candidates(4, kShallow), (std::vector<AttendSchedule>{{1, 0}}));
}

}  // namespace
}  // namespace hearth
