#include "cli/interrupts.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(Interrupts, HoldsBackTheFirstSignalAndTellsOfIt) {
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

TEST(InterruptsDeathTest, EndsTheProcessWhereNothingCanBeLost) {
  auto interrupt = [] {
    Interrupts interrupts;
    raise(SIGINT);
    interrupts.die_if_received();
  };
  EXPECT_EXIT(interrupt(), testing::KilledBySignal(SIGINT), "");
}

TEST(Interrupts, GivesTheSignalBackAtItsEnd) {
  sigset_t mask;
  { Interrupts interrupts; }
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  EXPECT_EQ(sigismember(&mask, SIGINT), 0);
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
