#include "cli/tune_args.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace hearth {
namespace {

TEST(TuneArgs, BudgetsAreTimes) {
  EXPECT_EQ(parse_budget("90s"), 90);
  EXPECT_EQ(parse_budget("10m"), 600);
  EXPECT_EQ(parse_budget("1.5h"), 5400);
  for (const char* bad : {"", "10", "m", "10 m", "-3m", "0s", "nanm", "169h", "1e9h", "10mm"}) {
    EXPECT_THROW(parse_budget(bad), Error) << bad;
  }
}

}  // namespace
}  // namespace hearth
