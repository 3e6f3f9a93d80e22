#include "cli/topo_bandwidth.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(TopoBandwidth, TextHasARowForEveryNodeWithThreads) {
  Machine machine = Machine::from_synthetic("pack:1 numa:2 core:3 pu:1");
  BandwidthTable table = assumed_bandwidth(machine);
  table.core_read = 12.5e9;
  table.core_ops = {40e9, 0, 160.25e9, 80e9};
  table.read[1][0] = 0;
  std::string text = bandwidth_text(table);
  EXPECT_NE(text.find("  node 0 (3)                  100.0     50.0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  node 1 (3)                      -    100.0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("one thread: 12.5 GB/s, f32 fma 40.0 GOPS, int8"), std::string::npos) << text;
}

}  // namespace
}  // namespace hearth
