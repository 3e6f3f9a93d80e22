// Made-up calls that route rows to experts, group them, multiply them and add them up.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numeric>
#include <span>
#include <vector>

#include "accelerator/call_problems.h"
#include "accelerator/problem_memory.h"
#include "kernels/gemm/gemm_problem.h"

namespace hearth {
namespace {

struct RoutingSize {
  uint32_t rows, experts, used;
  uint32_t groups = 1, groups_used = 1;
};

std::vector<RoutingSize> routing_sizes(bool brief) {
  std::vector<RoutingSize> sizes = {{3, 7, 2}, {5, 64, 8, 8, 3}};
  if (brief) return sizes;
  // Routing to the only expert, to all experts, with groups of one expert each, and with the
  // largest numbers.
  for (const RoutingSize& size : std::initializer_list<RoutingSize>{
           {1, 1, 1}, {2, 5, 5}, {17, 12, 3, 12, 4}, {9, 256, 8, 8, 4}, {3, 1024, 64, 16, 2}}) {
    sizes.push_back(size);
  }
  return sizes;
}

// Makes a problem of choosing experts. If `tied`, the logits have few different values, so that
// many experts have equal scores.
CallProblem route_problem(BufferId buffer, std::mt19937& random, const RoutingSize& size,
                          Gating gating, ProblemValues values, bool tied) {
  ProblemMemory memory(buffer, random, values);
  RouteCall call{.rule = {.experts = size.experts,
                          .used = size.used,
                          .gating = gating,
                          .norm_topk = size.rows % 2 != 0,
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

// Each row chooses among all experts. With `skewed`, all rows choose the first experts instead.
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
  // Sizes with more choices than a workgroup has invocations, up to many times as many.
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

// Choices of rows, and their places.
struct Placed {
  ExpertChoices choices;
  std::vector<uint32_t> words;

  size_t count() const { return size_t{choices.rows} * choices.used; }
};

// Chooses experts at random for each row. No row chooses expert `without`, unless it is the only
// one.
Placed place_rows(const RoutingSize& size, uint32_t without, std::mt19937& random) {
  Placed placed;
  const RouterRule rule = {.experts = size.experts, .used = size.used};
  placed.words.resize(choice_words(size.rows, rule));
  placed.choices = choices_over(placed.words.data(), size.rows, rule);
  std::vector<uint32_t> experts;
  for (uint32_t e = 0; e < size.experts; ++e) {
    if (e != without || size.used == size.experts) experts.push_back(e);
  }
  for (uint32_t row = 0; row < size.rows; ++row) {
    std::shuffle(experts.begin(), experts.end(), random);
    uint32_t* of_row = placed.choices.chosen + size_t{row} * size.used;
    std::copy_n(experts.begin(), size.used, of_row);
    std::sort(of_row, of_row + size.used);
  }
  group_by_expert(placed.choices);
  return placed;
}

Place add_words(ProblemMemory& memory, const uint32_t* words, size_t count) {
  return memory.add(std::as_bytes(std::span(words, count)));
}

struct ExpertGemmSize {
  RoutingSize routing;
  uint32_t panels, blocks, expert0, experts;
  bool gathers;
};

CallProblem expert_gemm_problem(BufferId buffer, std::mt19937& random, PackKind kind,
                                const PackForm& form, const ExpertGemmSize& size, Fill fill) {
  const RoutingSize& routing = size.routing;
  const Placed placed = place_rows(routing, size.expert0 + 1, random);
  const uint32_t* first = placed.choices.first;
  const uint32_t places = first[size.expert0 + size.experts] - first[size.expert0];
  ExpertGemmCall call{.expert0 = size.expert0, .experts = size.experts};
  call.choices = static_cast<uint32_t>(placed.count());
  call.room = places + 2;
  call.likely_rows = places / size.experts + 1;
  ProblemMemory memory(buffer, random, ProblemValues::kPlain);
  std::vector<std::byte> codes, scales;
  const auto append = [](std::vector<std::byte>& all, const std::byte* data, size_t bytes) {
    all.insert(all.end(), data, data + bytes);
    all.resize((all.size() + 63) / 64 * 64 + 64);
    return all.size();
  };
  const uint32_t rows = size.gathers ? routing.rows : call.room;
  for (uint32_t e = 0; e < size.experts; ++e) {
    const Problem made = make_problem(kind, form, size.panels, size.blocks, 0, rows, fill,
                                      static_cast<uint32_t>(random()));
    call.spec = made.spec;
    call.codes_stride = append(codes, made.codes.data(), made.spec.codes_bytes()) / (e + 1);
    call.scales_stride = append(scales, made.scales.data(), made.spec.scales_bytes()) / (e + 1);
    if (e > 0) continue;
    const ActFormat format = act_format_for(kind);
    call.a = {memory.add(std::span(made.act_bytes.data(), act_bytes(format, rows, made.spec.k))),
              format, rows, made.spec.k};
  }
  call.codes = memory.add(codes);
  call.scales = memory.add(scales);
  call.first = add_words(memory, first, routing.experts + 1);
  if (size.gathers) call.row = add_words(memory, placed.choices.row, placed.count());
  const uint32_t columns = size.panels * kPanelRows;
  call.out = memory.results(call.room, columns + 16, columns);
  return memory.finish(
      call, fmt::format("{} places of experts {} to {}, {} panels, {} blocks{}", places,
                        size.expert0, size.expert0 + size.experts - 1, size.panels, size.blocks,
                        size.gathers ? ", gathered" : ""));
}

Contract expert_gemm_contract(PackKind kind, bool brief) {
  // Three experts, one of them without rows; one expert that has all rows; many rows for few
  // experts.
  std::vector<ExpertGemmSize> sizes = {{{23, 5, 2}, 2, 9, 1, 3, true}};
  if (!brief) {
    sizes.push_back({{40, 4, 3}, 5, 3, 0, 4, false});
    sizes.push_back({{1, 1, 1}, 1, 2, 0, 1, true});
    sizes.push_back({{70, 2, 2}, 3, 1, 1, 1, false});
  }
  Contract contract{fmt::format("experts' gemm {}", pack_kind_name(kind)), {}, kind};
  std::vector<PackForm> forms = forms_of(kind);
  if (brief) forms.resize(1);
  for (const PackForm& form : forms) {
    for (const ExpertGemmSize& size : sizes) {
      for (Fill fill : {Fill::kRandom, Fill::kExtreme}) {
        if (brief && fill == Fill::kExtreme) continue;
        contract.problems.push_back([=](BufferId buffer, std::mt19937& random) {
          return expert_gemm_problem(buffer, random, kind, form, size, fill);
        });
      }
    }
  }
  return contract;
}

CallProblem expert_add_problem(BufferId buffer, std::mt19937& random, const RoutingSize& size,
                               ProblemValues values, bool begins) {
  const Placed placed = place_rows(size, size.experts, random);
  ProblemMemory memory(buffer, random, values);
  ExpertAddCall call{.rows = size.rows, .used = size.used, .begins = begins};
  call.expert0 = size.experts / 3;
  call.experts = size.experts / 2 + 1;
  call.n = 3 + size.rows * 17;
  const uint32_t* first = placed.choices.first;
  call.room = first[call.expert0 + call.experts] - first[call.expert0] + 1;
  call.x = memory.rows(call.room, call.n + 1);
  call.chosen = add_words(memory, placed.choices.chosen, placed.count());
  call.weights = memory.values(placed.count());
  call.place = add_words(memory, placed.choices.place, placed.count());
  call.first = add_words(memory, first, size.experts + 1);
  if (begins) {
    call.out = memory.results(size.rows, call.n + 2, call.n);
  } else {
    call.out = memory.rows(size.rows, call.n + 2);
    memory.note_floats(call.out, size.rows, call.n);
  }
  return memory.finish(call, fmt::format("{} rows, {} of {} experts{}", size.rows, size.used,
                                         size.experts, begins ? ", sums that begin" : ""));
}

Contract expert_add_contract(bool brief) {
  Contract contract{"experts' add", {}};
  for (const RoutingSize& size : {RoutingSize{5, 7, 3}, {1, 1, 1}, {33, 16, 8}}) {
    for (ProblemValues values : {ProblemValues::kPlain, ProblemValues::kHostile}) {
      for (bool begins : {false, true}) {
        if (brief && size.rows == 33) continue;
        contract.problems.push_back([=](BufferId buffer, std::mt19937& random) {
          return expert_add_problem(buffer, random, size, values, begins);
        });
      }
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
  all->push_back(expert_add_contract(brief));
  // The shader is the same as for products without experts, which are checked in all kinds. So a
  // few kinds are enough here.
  constexpr PackKind kFewKinds[] = {PackKind::kF32, PackKind::kBF16, PackKind::kQ8_0,
                                    PackKind::kQ4_K, PackKind::kFP8R};
  for (size_t i = 0; i < kPackKinds; ++i) {
    const auto kind = static_cast<PackKind>(i);
    if (brief && std::ranges::count(kFewKinds, kind) == 0) continue;
    all->push_back(expert_gemm_contract(kind, brief));
  }
}

}  // namespace hearth
