// Tests calls that route rows to experts: which bytes they access, which of them check_call()
// refuses, and that the virtual accelerator refuses invalid choices.
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

constexpr BufferId kRouting = 3;

RouteCall good_route() {
  return {
      .rule = {.experts = 8, .used = 2, .gating = Gating::kSigmoid, .groups = 4, .groups_used = 2},
      .logits = {{kRouting, 0}, 10},
      .bias = {kRouting, 4096},
      .rows = 3,
      .chosen = {kRouting, 8192},
      .weights = {kRouting, 8448}};
}
GroupCall good_group() {
  return {.chosen = {kRouting, 0},
          .rows = 3,
          .used = 2,
          .experts = 4,
          .place = {kRouting, 64},
          .row = {kRouting, 128},
          .first = {kRouting, 192}};
}

// Returns a product of Q8_0 with panels of 2 x 32 weights, for three experts from the second on.
ExpertGemmCall good_expert_gemm() {
  return {.spec = {PackKind::kQ8_0, 16, 64, 0},
          .codes = {kRouting, 0},
          .scales = {kRouting, 8192},
          .codes_stride = 1088,
          .scales_stride = 192,
          .expert0 = 1,
          .experts = 3,
          .choices = 12,
          .first = {kRouting, 16384},
          .row = {kRouting, 16640},
          .a = {{kRouting, 20480}, ActFormat::kQ8, 4, 64},
          .likely_rows = 2,
          .room = 9,
          .out = {{kRouting, 32768}, 32}};
}
ExpertAddCall good_expert_add() {
  return {.x = {{kRouting, 0}, 20},
          .room = 9,
          .chosen = {kRouting, 4096},
          .weights = {kRouting, 4352},
          .place = {kRouting, 4608},
          .first = {kRouting, 4864},
          .rows = 4,
          .used = 3,
          .expert0 = 1,
          .experts = 3,
          .n = 18,
          .out = {{kRouting, 8192}, 18}};
}

TEST(RoutingCalls, AreNamedByContract) {
  RouteCall route = good_route();
  EXPECT_EQ(contract_name(route), "route sigmoid");
  route.rule.gating = Gating::kSoftmax;
  EXPECT_EQ(contract_name(route), "route softmax");
  route.rule.gating = Gating::kSoftmaxOfChosen;
  EXPECT_EQ(contract_name(route), "route softmax of chosen");
  EXPECT_EQ(contract_name(good_group()), "group by expert");
  EXPECT_EQ(contract_name(good_expert_gemm()), "experts' gemm q8_0");
  EXPECT_EQ(contract_name(good_expert_add()), "experts' add");
}

TEST(RoutingCalls, AccessRowsAsTheyLie) {
  EXPECT_EQ(accesses_of(KernelCall(good_route())),
            (std::vector<Access>{{{kRouting, 0}, 32, 40, 3},
                                 {{kRouting, 4096}, 32},
                                 {.at = {kRouting, 8192}, .bytes = 24, .writes = true},
                                 {.at = {kRouting, 8448}, .bytes = 24, .writes = true}}));
  EXPECT_EQ(accesses_of(KernelCall(good_group())),
            (std::vector<Access>{{{kRouting, 0}, 24},
                                 {.at = {kRouting, 64}, .bytes = 24, .writes = true},
                                 {.at = {kRouting, 128}, .bytes = 24, .writes = true},
                                 {.at = {kRouting, 192}, .bytes = 20, .writes = true}}));
}

// A call reads where the places of its own experts begin. It counts as writing all rows of `out`
// that there is room for.
TEST(RoutingCalls, ExpertsAccessTheirMatricesAndAllTheRoom) {
  std::vector<Access> gemm = accesses_of(KernelCall(good_expert_gemm()));
  EXPECT_EQ(gemm[0], (Access{{kRouting, 0}, 1024, 1088, 3}));
  EXPECT_EQ(gemm[2], (Access{{kRouting, 16388}, 16}));
  EXPECT_EQ(gemm[3], (Access{{kRouting, 16640}, 48}));
  EXPECT_EQ(gemm.back(), (Access{{kRouting, 32768}, 64, 128, 9, true}));
  ExpertAddCall add = good_expert_add();
  EXPECT_EQ(accesses_of(KernelCall(add)).size(), 7u);
  add.begins = true;  // the old sums are not read
  EXPECT_EQ(accesses_of(KernelCall(add)).size(), 6u);
  EXPECT_EQ(accesses_of(KernelCall(add)).back(), (Access{{kRouting, 8192}, 72, 72, 4, true}));
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
  route([](R& c) { c.bias.offset = 2; }, "not a multiple of 4");
  route([](R& c) { c.chosen = {}; }, "no place for the choices");
  route([](R& c) { c.weights.offset += 2; }, "not a multiple of 4");
  route([](R& c) { c.weights.offset = 64; }, "overwrites");
  using G = GroupCall;
  auto group = [](const std::function<void(G&)>& spoil, const char* text) {
    expect_refused<G>(good_group(), spoil, text);
  };
  group([](G& c) { c.rows = 0; }, "nothing to do");
  group([](G& c) { c.used = 0; }, "0 of 4 experts");
  group([](G& c) { c.used = 65, c.experts = 100; }, "65 of 100 experts");
  group([](G& c) { c.chosen = {}; }, "no place for the choices");
  group([](G& c) { c.first = {}; }, "no place for first places");
  group([](G& c) { c.row.offset = 130; }, "not a multiple of 4");
  group([](G& c) { c.rows = UINT32_MAX; }, "more choices");
  group([](G& c) { c.place.offset = 8; }, "overwrites");
}

TEST(RoutingCalls, ContradictionsAreRefusedOfExperts) {
  using E = ExpertGemmCall;
  auto gemm = [](const std::function<void(E&)>& spoil, const char* text) {
    expect_refused<E>(good_expert_gemm(), spoil, text);
  };
  gemm([](E& c) { c.room = 0; }, "nothing to do");
  gemm([](E& c) { c.experts = 0; }, "nothing to do");
  gemm([](E& c) { c.expert0 = 1022; }, "no 3 experts from 1022 on");
  gemm([](E& c) { c.codes_stride = 960; }, "experts of 1024 bytes overlap");
  gemm([](E& c) { c.scales_stride = 200; }, "not a multiple of 64");
  gemm([](E& c) { c.first = {}; }, "no place for the first places");
  gemm([](E& c) { c.choices = 0; }, "no row chooses an expert");
  gemm([](E& c) { c.row = {}; }, "9 rows do not fit into activations of 4");
  gemm([](E& c) { c.a.format = ActFormat::kF32; }, "another format");
  gemm([](E& c) { c.a.k = 32; }, "shorter");
  gemm([](E& c) { c.out.stride = 40; }, "not a multiple of 16");
  gemm([](E& c) { c.out.at.offset = 20480; }, "overwrites");
  using A = ExpertAddCall;
  auto add = [](const std::function<void(A&)>& spoil, const char* text) {
    expect_refused<A>(good_expert_add(), spoil, text);
  };
  add([](A& c) { c.n = 0; }, "nothing to do");
  add([](A& c) { c.used = 65; }, "65 of");
  add([](A& c) { c.room = 0; }, "no rows of experts");
  add([](A& c) { c.experts = 1025; }, "no 1025 experts");
  add([](A& c) { c.weights = {}; }, "no place for the weights");
  add([](A& c) { c.out.stride = 17; }, "output overlap");
  add([](A& c) { c.out.at.offset = 64; }, "overwrites");
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
