#include <algorithm>
#include <utility>

#include "accelerator/vulkan/dispatch.h"
#include "base/check.h"
#include "base/error.h"
#include "kernels/attention/attention.h"

namespace hearth {
namespace {

// As the block of attend.comp has it.
struct AttendPush {
  uint64_t q, k, v, rows_of, slopes, out;
  uint32_t q_stride, k_stride, v_stride, out_stride;
  uint32_t row0, head0;
  uint32_t group;
  uint32_t key_length, value_length;
  float scale;
  uint32_t sloped;
  uint32_t zero;
};
static_assert(sizeof(AttendPush) == 96);

constexpr uint32_t kInvocations = 64;
constexpr uint64_t kMostProducts = uint64_t{1} << 30;  // of a dispatch
constexpr uint32_t kMostGroups = 65535;                // of a dimension, in all Vulkan

// The shader counts floats from the first row's in 31 bits.
uint32_t checked_stride(const FloatRows& x, uint32_t rows) {
  constexpr uint64_t kMostFloats = uint64_t{1} << 31;
  if (x.stride > kMostFloats / std::max(rows, 1u)) {
    fail(ErrorCode::kUnsupported,
         "attention over {} rows of {} floats, more than the shader counts; take fewer rows a step",
         rows, x.stride);
  }
  return static_cast<uint32_t>(x.stride);
}

AttendPush push_of(const AttendCall& call, const AddressOf& address) {
  return {.q = address(call.q.at),
          .k = address(call.k.at),
          .v = address(call.v.at),
          .rows_of = address(call.rows_of),
          .slopes = address(call.slopes),
          .out = address(call.out.at),
          .q_stride = checked_stride(call.q, call.rows),
          .k_stride = checked_stride(call.k, call.step_rows),
          .v_stride = checked_stride(call.v, call.step_rows),
          .out_stride = checked_stride(call.out, call.rows),
          .row0 = 0,
          .head0 = 0,
          .group = call.group,
          .key_length = call.key_length,
          .value_length = call.value_length,
          .scale = call.scale,
          .sloped = call.slopes ? 1u : 0u,
          .zero = 0};
}

}  // namespace

// What a row sees lies in the accelerator's memory, so each counts as if it saw the whole step.
std::vector<Dispatch> dispatches_of(const AttendCall& call, const AddressOf& address) {
  HEARTH_CHECK(call.group > 0, "attention in groups of no heads");
  if (std::max(call.key_length, call.value_length) > kMaxHeadDim) {
    fail(ErrorCode::kUnsupported,
         "attention over keys of {} elements and values of {}; the shader has room for {}",
         call.key_length, call.value_length, kMaxHeadDim);
  }
  AttendPush push = push_of(call, address);
  const uint64_t products =
      uint64_t{std::max(call.step_rows, 1u)} * std::max(call.key_length + call.value_length, 1u);
  const uint64_t most = std::clamp<uint64_t>(kMostProducts / products, 1, kMostGroups);
  const uint32_t rows = static_cast<uint32_t>(std::min<uint64_t>(std::max(call.rows, 1u), most));
  const uint32_t heads = static_cast<uint32_t>(std::max<uint64_t>(most / rows, 1));

  std::vector<Dispatch> dispatches;
  for (push.head0 = 0; push.head0 < call.heads; push.head0 += heads) {
    for (push.row0 = 0; push.row0 < call.rows; push.row0 += rows) {
      Dispatch dispatch{.shader = "attend"};
      dispatch.constants = {(call.value_length + kInvocations - 1) / kInvocations};
      dispatch.set_push(push);
      dispatch.groups = {std::min(rows, call.rows - push.row0),
                         std::min(heads, call.heads - push.head0), 1};
      dispatches.push_back(std::move(dispatch));
    }
  }
  return dispatches;
}

}  // namespace hearth
