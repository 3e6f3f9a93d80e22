#include "bench/profile_report.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(ProfileReport, ShowsOpsAndThreads) {
  ProfileRow head{"logits", 4, {0, 0.5, 0.25}, {0, 0.6, 0.25}, {}};
  head.work.bytes = 30'000'000'000;
  head.work.of(ArithmeticUnit::kInt8Dot) = 60'000'000'000;
  ProfileSummary summary;
  summary.runs = 2;
  summary.tokens = 8;
  summary.threads = 2;
  summary.seconds = 1;
  summary.rows = {head};
  summary.by_threads = {{0, 0.6, 0.15}, {0.05, 0.4, 0.35}};
  LimitSample best;
  best.read = 80e9;
  best.ops[static_cast<size_t>(ArithmeticUnit::kInt8Dot)] = 1000e9;
  std::string text = profile_markdown("decode of 4", summary, best);
  EXPECT_NE(text.find("decode of 4: 2 steps, 8 tokens, 1.00 s"), std::string::npos) << text;
  // 30 GB in 0.75 s are half of 80 GB/s. 60 GOP at 1000 GOPS take less time, so reading bounds the
  // op.
  EXPECT_NE(text.find("| logits |     4 |   375.000 | 50.0 % |  25.0 % |  0.0 % |    20.0 % | 40.0 "
                      "| 80.0 |   50.0 % |  reading |"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("|      1 | 40.0 % |  35.0 % |  5.0 % |"), std::string::npos) << text;
}

}  // namespace
}  // namespace hearth
