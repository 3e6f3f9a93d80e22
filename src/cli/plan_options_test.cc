#include "cli/plan_options.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace hearth {
namespace {

TEST(PlanOptions, Ranges) {
  EXPECT_EQ(parse_ranges("0-3,8", "--cpus"), (std::vector<uint32_t>{0, 1, 2, 3, 8}));
  EXPECT_EQ(parse_ranges("7", "--cpus"), (std::vector<uint32_t>{7}));
  for (const char* wrong : {"", "3-1", "1,", ",1", "1--2", "a", "1 2", "1-", "0-99999999", "-1"}) {
    EXPECT_THROW(parse_ranges(wrong, "--cpus"), Error) << wrong;
  }
}

TEST(PlanOptions, SetTheEnginesOptions) {
  Machine machine = Machine::from_synthetic("numa:2 core:2 pu:1");
  machine.nodes[1].os_index = 5;
  PlanArgs args;
  args.groups = {2, 4};
  args.nodes = {5};
  args.cpus = "2-3";
  EngineOptions options;
  set_plan(machine, args, &options);
  EXPECT_EQ(options.prefill_groups, 2u);
  EXPECT_EQ(options.decode_groups, 4u);
  EXPECT_EQ(options.nodes, std::vector<uint32_t>{1});
  EXPECT_EQ(options.pus, (std::vector<uint32_t>{2, 3}));
  args.groups = {3};
  set_plan(machine, args, &options);
  EXPECT_EQ(options.prefill_groups, 3u);
  EXPECT_EQ(options.decode_groups, 3u);
  args.nodes = {1};
  EXPECT_THROW(set_plan(machine, args, &options), Error);
}

}  // namespace
}  // namespace hearth
