#include "base/progress.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace hearth {
namespace {

std::string blocks(uint64_t count) { return fmt::format("{} blocks", count); }

TEST(ProgressText, ShowsShareAmountRateAndTimeLeft) {
  EXPECT_EQ(progress_text("packing", 25, 100, 5, blocks),
            "packing  25 %  25 blocks of 100 blocks  5 blocks/s  15 s left");
  EXPECT_EQ(progress_text("packing", 100, 100, 5, blocks, "done"),
            "packing  100 %  100 blocks of 100 blocks  20 blocks/s  done");
}

TEST(ProgressText, CapsTheTimeLeft) {
  EXPECT_EQ(progress_text("tuning", 25, 100, 5, blocks, "", 9),
            "tuning  25 %  25 blocks of 100 blocks  5 blocks/s  9 s left");
  EXPECT_EQ(progress_text("tuning", 75, 100, 5, blocks, "", 9),
            "tuning  75 %  75 blocks of 100 blocks  15 blocks/s  2 s left");
}

TEST(ProgressText, WorksWithoutATotalOrAnyWork) {
  EXPECT_EQ(progress_text("reading", 30, 0, 10, blocks), "reading  30 blocks  3 blocks/s");
  EXPECT_EQ(progress_text("reading", 0, 10, 4, blocks), "reading  0 %  0 blocks of 10 blocks");
}

TEST(DurationText, HasTheLargestTwoUnits) {
  EXPECT_EQ(duration_text(-1), "0 s");
  EXPECT_EQ(duration_text(6.2), "7 s");
  EXPECT_EQ(duration_text(185), "3 min 05 s");
  EXPECT_EQ(duration_text(7800), "2 h 10 min");
}

class ProgressTest : public testing::Test {
 protected:
  std::string written_;
  Progress::Out out_ = [this](std::string_view text) { written_ += text; };
  double now_ = 100;
  Progress::Clock clock_ = [this] { return now_; };
};

TEST_F(ProgressTest, IsQuietForTheFirstSecond) {
  {
    Progress progress("packing", 10, blocks, out_, 80, clock_);
    now_ += 0.9;
    progress.update(5);
  }
  EXPECT_EQ(written_, "");
}

TEST_F(ProgressTest, RewritesOneLineTenTimesASecondAndWipesIt) {
  Progress progress("packing", 10, blocks, out_, 80, clock_);
  now_ += 2;
  progress.update(4);
  now_ += 0.05;
  progress.update(5);
  now_ += 0.95;
  progress.update(6);
  progress.finish();
  EXPECT_EQ(written_,
            "\rpacking  40 %  4 blocks of 10 blocks  2 blocks/s  3 s left\x1b[K"
            "\rpacking  60 %  6 blocks of 10 blocks  2 blocks/s  2 s left\x1b[K"
            "\r\x1b[K");
}

TEST_F(ProgressTest, StaysInsideTheLine) {
  Progress progress("packing", 10, blocks, out_, 12, clock_);
  now_ += 2;
  progress.update(4);
  EXPECT_EQ(written_, "\rpacking  40\x1b[K");
}

}  // namespace
}  // namespace hearth
