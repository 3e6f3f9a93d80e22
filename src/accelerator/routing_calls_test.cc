// What calls that route rows to experts read and write, what is refused of them, and what the
// virtual accelerator makes of choices that are none.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <vector>

#include "accelerator/kernel_calls.h"
#include "accelerator/test_refused_calls.h"
#include "accelerator/virtual/run_call.h"
#include "base/error.h"

namespace hearth {
namespace {

constexpr BufferId kB = 3;

RouteCall good_route() {
  return {
      .rule = {.experts = 8, .used = 2, .gating = Gating::kSigmoid, .groups = 4, .groups_used = 2},
      .logits = {{kB, 0}, 10},
      .bias = {kB, 4096},
      .rows = 3,
      .chosen = {kB, 8192},
      .weights = {kB, 8448}};
}
GroupCall good_group() {
  return {.chosen = {kB, 0},
          .rows = 3,
          .used = 2,
          .experts = 4,
          .place = {kB, 64},
          .row = {kB, 128},
          .first = {kB, 192}};
}

TEST(RoutingCalls, AreNamedByContract) {
  RouteCall route = good_route();
  EXPECT_EQ(contract_name(route), "route sigmoid");
  route.rule.gating = Gating::kSoftmax;
  EXPECT_EQ(contract_name(route), "route softmax");
  route.rule.gating = Gating::kSoftmaxOfChosen;
  EXPECT_EQ(contract_name(route), "route softmax of chosen");
  EXPECT_EQ(contract_name(good_group()), "group by expert");
}

TEST(RoutingCalls, AccessRowsAsTheyLie) {
  EXPECT_EQ(accesses_of(KernelCall(good_route())),
            (std::vector<Access>{{{kB, 0}, 32, 40, 3},
                                 {{kB, 4096}, 32},
                                 {.at = {kB, 8192}, .bytes = 24, .writes = true},
                                 {.at = {kB, 8448}, .bytes = 24, .writes = true}}));
  EXPECT_EQ(accesses_of(KernelCall(good_group())),
            (std::vector<Access>{{{kB, 0}, 24},
                                 {.at = {kB, 64}, .bytes = 24, .writes = true},
                                 {.at = {kB, 128}, .bytes = 24, .writes = true},
                                 {.at = {kB, 192}, .bytes = 20, .writes = true}}));
}

TEST(RoutingCalls, ContradictionsAreRefused) {
  using R = RouteCall;
  auto route = [](const std::function<void(R&)>& spoil, const char* text) {
    expect_refused<R>(good_route(), spoil, text);
  };
  route([](R& c) { c.rows = 0; }, "nothing to do");
  route([](R& c) { c.rule.used = 9; }, "9 of 8 experts");
  route([](R& c) { c.rule.experts = 2048; }, "2 of 2048 experts");
  route([](R& c) { c.rule.groups = 3; }, "do not divide");
  route([](R& c) { c.rule.groups = 0; }, "do not divide");
  route([](R& c) { c.rule.groups_used = 5; }, "5 of 4 groups");
  route([](R& c) { c.rule.used = 5; }, "2 of 4 groups do not hold 5");
  route([](R& c) { c.rule.scale = std::numeric_limits<float>::infinity(); }, "scale");
  route([](R& c) { c.rule.logit_scale = std::numeric_limits<float>::quiet_NaN(); }, "scale");
  route([](R& c) { c.logits.stride = 7; }, "rows of logits overlap");
  route([](R& c) { c.bias.offset = 2; }, "no multiple of 4");
  route([](R& c) { c.chosen = {}; }, "no room for the choices");
  route([](R& c) { c.weights.offset += 2; }, "no multiple of 4");
  route([](R& c) { c.weights.offset = 64; }, "overwrites");
  using G = GroupCall;
  auto group = [](const std::function<void(G&)>& spoil, const char* text) {
    expect_refused<G>(good_group(), spoil, text);
  };
  group([](G& c) { c.rows = 0; }, "nothing to do");
  group([](G& c) { c.used = 0; }, "0 of 4 experts");
  group([](G& c) { c.used = 65, c.experts = 100; }, "65 of 100 experts");
  group([](G& c) { c.chosen = {}; }, "no choices");
  group([](G& c) { c.first = {}; }, "no room for first places");
  group([](G& c) { c.row.offset = 130; }, "no multiple of 4");
  group([](G& c) { c.rows = UINT32_MAX; }, "more choices");
  group([](G& c) { c.place.offset = 8; }, "overwrites");
}

TEST(RoutingCalls, ChoicesBeyondAllExpertsAreRefused) {
  std::vector<uint32_t> memory(64, 1);
  auto at = [&](const Place& place) {
    return reinterpret_cast<std::byte*>(memory.data()) + place.offset;
  };
  EXPECT_NO_THROW(run_call(KernelCall(good_group()), at));
  memory[5] = 4;
  EXPECT_THROW(run_call(KernelCall(good_group()), at), Error);
}

}  // namespace
}  // namespace hearth
