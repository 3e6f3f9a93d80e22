// Dispatches that route rows to experts (shaders/route.comp), place the rows of each expert next to
// each other (shaders/group.comp), and add the experts' results up (shaders/expert_add.comp).
#include <algorithm>
#include <vector>

#include "accelerator/vulkan/dispatch.h"
#include "base/error.h"

namespace hearth {
namespace {

// The push constants; shaders/route.comp has the same block.
struct RoutePush {
  uint64_t logits, bias, chosen, weights;
  uint32_t logits_stride, experts, used;
  uint32_t groups, groups_used;
  float scale, logit_scale;
  uint32_t zero;
};

// The push constants; shaders/group.comp has the same block.
struct GroupPush {
  uint64_t chosen, place, row, first;
  uint32_t choices, used;
};

// The push constants; shaders/expert_add.comp has the same block.
struct ExpertAddPush {
  uint64_t x, chosen, weights, place, first, result;
  uint32_t x_stride, result_stride, n, used;
  uint32_t expert0, experts;
  uint32_t zero;
};

constexpr uint64_t kExpertAddGroup = 256;  // elements of a workgroup

}  // namespace

std::vector<Dispatch> dispatches_of(const RouteCall& call, const AddressOf& address) {
  const RouterRule& rule = call.rule;
  const uint64_t stride = std::max<uint64_t>({call.logits.stride, rule.used, 1});
  if (stride > kMaxIndex) {
    fail(ErrorCode::kUnsupported, "rows of logits lie {} floats apart, more than shaders can index",
         stride);
  }
  const uint64_t height = std::min(kMaxGroups, (kMaxIndex - kMaxExperts) / stride + 1);
  std::vector<Dispatch> dispatches;
  for (uint64_t row = 0; row < call.rows; row += height) {
    Dispatch& d = dispatches.emplace_back(Dispatch{.shader = "route"});
    d.constants = {static_cast<uint32_t>(rule.gating), call.bias ? 1u : 0u,
                   rule.norm_topk ? 1u : 0u};
    d.set_push(
        RoutePush{.logits = address(call.logits.at) + sizeof(float) * call.logits.stride * row,
                  .bias = address(call.bias),
                  .chosen = address(call.chosen) + sizeof(uint32_t) * rule.used * row,
                  .weights = address(call.weights) + sizeof(float) * rule.used * row,
                  .logits_stride = static_cast<uint32_t>(call.logits.stride),
                  .experts = rule.experts,
                  .used = rule.used,
                  .groups = rule.groups,
                  .groups_used = rule.groups_used,
                  .scale = rule.scale,
                  .logit_scale = rule.logit_scale,
                  .zero = 0});
    d.groups[0] = static_cast<uint32_t>(std::min<uint64_t>(height, call.rows - row));
  }
  return dispatches;
}

std::vector<Dispatch> dispatches_of(const GroupCall& call, const AddressOf& address) {
  if (call.choices() > kMaxIndex) {
    fail(ErrorCode::kUnsupported,
         "{} choices of experts are more than shaders can index: lower --gpu-rows", call.choices());
  }
  Dispatch d{.shader = "group"};
  d.set_push(GroupPush{.chosen = address(call.chosen),
                       .place = address(call.place),
                       .row = address(call.row),
                       .first = address(call.first),
                       .choices = static_cast<uint32_t>(call.choices()),
                       .used = call.used});
  d.groups[0] = call.experts;
  return {d};
}

std::vector<Dispatch> dispatches_of(const ExpertAddCall& call, const AddressOf& address) {
  const uint64_t stride = std::max<uint64_t>({call.out.stride, call.n, call.used});
  const uint64_t columns = (uint64_t{call.n} + kExpertAddGroup - 1) / kExpertAddGroup;
  if (stride > kMaxIndex || call.room * call.x.stride + call.n > kMaxIndex ||
      columns > kMaxGroups) {
    fail(ErrorCode::kUnsupported,
         "{} rows of experts of {} floats are more than shaders can index: lower --gpu-rows",
         call.room, call.x.stride);
  }
  const uint64_t height = std::min(kMaxGroups, kMaxIndex / stride);
  std::vector<Dispatch> dispatches;
  for (uint64_t row = 0; row < call.rows; row += height) {
    const uint64_t choice = row * call.used;
    Dispatch& d = dispatches.emplace_back(Dispatch{.shader = "expert_add"});
    d.constants = {call.begins ? 1u : 0u};
    d.set_push(ExpertAddPush{.x = address(call.x.at),
                             .chosen = address(call.chosen) + sizeof(uint32_t) * choice,
                             .weights = address(call.weights) + sizeof(float) * choice,
                             .place = address(call.place) + sizeof(uint32_t) * choice,
                             .first = address(call.first) + sizeof(uint32_t) * call.expert0,
                             .result = address(call.out.at) + sizeof(float) * call.out.stride * row,
                             .x_stride = static_cast<uint32_t>(call.x.stride),
                             .result_stride = static_cast<uint32_t>(call.out.stride),
                             .n = call.n,
                             .used = call.used,
                             .expert0 = call.expert0,
                             .experts = call.experts,
                             .zero = 0});
    d.groups = {static_cast<uint32_t>(columns),
                static_cast<uint32_t>(std::min<uint64_t>(height, call.rows - row)), 1};
  }
  return dispatches;
}

}  // namespace hearth
