#include "cli/termination.h"

#include <gtest/gtest.h>

#include <csignal>

namespace hearth {
namespace {

TEST(Termination, WaitsForTheFirstSignal) {
  for (int signal : {SIGINT, SIGTERM}) {
    Termination termination;
    raise(signal);
    termination.wait();
  }
}

TEST(Termination, LeavesTheSecondItsUsualEffect) {
  auto twice = [] {
    Termination termination;
    raise(SIGTERM);
    termination.wait();
    raise(SIGINT);
  };
  EXPECT_EXIT(twice(), testing::KilledBySignal(SIGINT), "");
}

TEST(Termination, PutsBackWhatWasThere) {
  struct sigaction before {
  }, after{};
  sigaction(SIGTERM, nullptr, &before);
  { Termination termination; }
  sigaction(SIGTERM, nullptr, &after);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
}

}  // namespace
}  // namespace hearth
