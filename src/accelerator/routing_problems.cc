// Made-up calls that route rows to experts, and group them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numeric>
#include <span>
#include <vector>

#include "accelerator/call_problems.h"
#include "accelerator/problem_memory.h"

namespace hearth {
namespace {

struct RoutingSize {
  uint32_t rows, experts, used;
  uint32_t groups = 1, groups_used = 1;
};

std::vector<RoutingSize> routing_sizes(bool brief) {
  std::vector<RoutingSize> sizes = {{3, 7, 2}, {5, 64, 8, 8, 3}};
  if (brief) return sizes;
  // None to choose among, all chosen, groups of one, and the most of all.
  for (const RoutingSize& size : std::initializer_list<RoutingSize>{
           {1, 1, 1}, {2, 5, 5}, {17, 12, 3, 12, 4}, {9, 256, 8, 8, 4}, {3, 1024, 64, 16, 2}}) {
    sizes.push_back(size);
  }
  return sizes;
}

// Every other problem has few values, so that many experts are as good as others.
CallProblem route_problem(BufferId buffer, std::mt19937& random, const RoutingSize& size,
                          Gating gating, ProblemValues values, bool tied) {
  ProblemMemory memory(buffer, random, values);
  RouteCall call{.rule = {.experts = size.experts,
                          .used = size.used,
                          .gating = gating,
                          .normalised = size.rows % 2 != 0,
                          .scale = tied ? 1 : 2.5f,
                          .logit_scale = tied ? 1 : 0.7f,
                          .groups = size.groups,
                          .groups_used = size.groups_used},
                 .rows = size.rows};
  const uint64_t stride = size.experts + 3;
  std::vector<float> logits = memory.draw(size.rows * stride);
  if (tied) std::ranges::for_each(logits, [](float& x) { x = std::rint(x); });
  call.logits = {memory.add(std::as_bytes(std::span<const float>(logits))), stride};
  if (size.rows > 2) call.bias = memory.values(size.experts);
  const uint64_t choices = uint64_t{size.rows} * size.used;
  call.chosen = memory.add(choices * sizeof(uint32_t));
  call.weights = memory.results(size.rows, size.used, size.used).at;
  return memory.finish(
      call, fmt::format("{} rows, {} of {} experts, {} of {} groups{}", size.rows, size.used,
                        size.experts, size.groups_used, size.groups, tied ? ", whole logits" : ""));
}

Contract route_contract(const char* name, Gating gating, bool brief) {
  Contract contract{name, {}};
  for (ProblemValues values :
       {ProblemValues::kPlain, ProblemValues::kWide, ProblemValues::kHostile}) {
    if (brief && values == ProblemValues::kWide) continue;
    for (const RoutingSize& size : routing_sizes(brief)) {
      for (bool tied : {false, true}) {
        contract.problems.push_back([=](BufferId buffer, std::mt19937& random) {
          return route_problem(buffer, random, size, gating, values, tied);
        });
      }
    }
  }
  return contract;
}

// Rows choose among all experts, or all of them the first ones.
CallProblem group_problem(BufferId buffer, std::mt19937& random, const RoutingSize& size,
                          bool skewed) {
  ProblemMemory memory(buffer, random, ProblemValues::kPlain);
  GroupCall call{.rows = size.rows, .used = size.used, .experts = size.experts};
  std::vector<uint32_t> experts(size.experts), chosen;
  std::iota(experts.begin(), experts.end(), 0u);
  for (uint32_t row = 0; row < size.rows; ++row) {
    if (!skewed) std::shuffle(experts.begin(), experts.end(), random);
    std::vector<uint32_t> of_row(experts.begin(), experts.begin() + size.used);
    std::ranges::sort(of_row);
    chosen.insert(chosen.end(), of_row.begin(), of_row.end());
  }
  call.chosen = memory.add(std::as_bytes(std::span<const uint32_t>(chosen)));
  call.place = memory.add(chosen.size() * sizeof(uint32_t));
  call.row = memory.add(chosen.size() * sizeof(uint32_t));
  call.first = memory.add((size.experts + 1) * sizeof(uint32_t));
  return memory.finish(call, fmt::format("{} rows, {} of {} experts{}", size.rows, size.used,
                                         size.experts, skewed ? ", all the same" : ""));
}

Contract group_contract(bool brief) {
  Contract contract{"group by expert", {}};
  std::vector<RoutingSize> sizes = routing_sizes(brief);
  // More choices than a workgroup has invocations, and many times as many.
  sizes.push_back({100, 9, 3});
  if (!brief) sizes.push_back({3000, 128, 8});
  for (const RoutingSize& size : sizes) {
    for (bool skewed : {false, true}) {
      contract.problems.push_back([=](BufferId buffer, std::mt19937& random) {
        return group_problem(buffer, random, size, skewed);
      });
    }
  }
  return contract;
}

}  // namespace

void add_routing_contracts(bool brief, std::vector<Contract>* all) {
  all->push_back(route_contract("route softmax", Gating::kSoftmax, brief));
  all->push_back(route_contract("route sigmoid", Gating::kSigmoid, brief));
  all->push_back(route_contract("route softmax of chosen", Gating::kSoftmaxOfChosen, brief));
  all->push_back(group_contract(brief));
}

}  // namespace hearth
