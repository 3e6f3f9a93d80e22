#include "cli/interrupts.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(Interrupts, HoldsBackAndReportsTheFirstSignal) {
  Interrupts interrupts;
  EXPECT_FALSE(interrupts.received());
  raise(SIGINT);
  EXPECT_TRUE(interrupts.received());
  EXPECT_TRUE(interrupts.received());
}

TEST(InterruptsDeathTest, LetsTheSecondSignalEndTheProcess) {
  auto interrupt_twice = [] {
    Interrupts interrupts;
    raise(SIGINT);
    if (interrupts.received()) raise(SIGINT);
  };
  EXPECT_EXIT(interrupt_twice(), testing::KilledBySignal(SIGINT), "");
}

TEST(InterruptsDeathTest, EndsTheProcessWithNothingToLose) {
  auto interrupt = [] {
    Interrupts interrupts;
    raise(SIGINT);
    interrupts.die_if_received();
  };
  EXPECT_EXIT(interrupt(), testing::KilledBySignal(SIGINT), "");
}

// A thread that is blocked in a write or a read never polls for a signal.
TEST(InterruptsDeathTest, LetsTheSecondSignalEndAProcessThatNeverAsks) {
  auto interrupt_twice = [] {
    Interrupts interrupts;
    raise(SIGINT);
    raise(SIGINT);
  };
  EXPECT_EXIT(interrupt_twice(), testing::KilledBySignal(SIGINT), "");
}

TEST(InterruptsDeathTest, GivesTheSignalBackAtItsEnd) {
  auto interrupt_afterwards = [] {
    { Interrupts interrupts; }
    raise(SIGINT);
  };
  EXPECT_EXIT(interrupt_afterwards(), testing::KilledBySignal(SIGINT), "");
}

TEST(Interrupts, LeavesAnIgnoredSignalIgnored) {
  struct sigaction before {};
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGINT, &ignore, &before);
  {
    Interrupts interrupts;
    raise(SIGINT);
    EXPECT_FALSE(interrupts.received());
  }
  sigaction(SIGINT, &before, nullptr);
}

}  // namespace
}  // namespace hearth
