#include "engine/job_handle.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

class JobHandleTest : public testing::Test {
 protected:
  JobHandle handle(uint64_t id = 7) {
    return {id, [this] { ++cancelled_; }};
  }
  int cancelled_ = 0;
};

TEST_F(JobHandleTest, CancelsWhenItDies) {
  {
    JobHandle held = handle();
    EXPECT_EQ(held.id(), 7u);
    EXPECT_EQ(cancelled_, 0);
  }
  EXPECT_EQ(cancelled_, 1);
}

TEST_F(JobHandleTest, CancelsOnce) {
  {
    JobHandle held = handle();
    held.cancel();
    EXPECT_EQ(cancelled_, 1);
    held.cancel();
    EXPECT_EQ(held.id(), 7u);
  }
  EXPECT_EQ(cancelled_, 1);
}

TEST_F(JobHandleTest, OneOfNothingCancelsNothing) {
  JobHandle none;
  none.cancel();
  EXPECT_EQ(cancelled_, 0);
}

TEST_F(JobHandleTest, MovesWithWhatItStandsFor) {
  {
    JobHandle first = handle(1), second = std::move(first);
    EXPECT_EQ(second.id(), 1u);
    first = handle(2);
    second = std::move(first);
    EXPECT_EQ(cancelled_, 1) << "the first";
    EXPECT_EQ(second.id(), 2u);
  }
  EXPECT_EQ(cancelled_, 2);
}

}  // namespace
}  // namespace hearth
