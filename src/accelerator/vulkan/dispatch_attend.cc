#include <algorithm>

#include "accelerator/vulkan/dispatch.h"
#include "base/check.h"
#include "base/error.h"
#include "kernels/attention/latent.h"

namespace hearth {
namespace {

// The push constants; attend.comp has the same block.
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
constexpr uint64_t kMaxProducts = uint64_t{1} << 30;  // the most multiply-adds of a dispatch

// Returns x's stride, checked: the shader counts floats from the first row in 31 bits.
uint32_t checked_stride(const FloatRows& x, uint32_t rows) {
  constexpr uint64_t kMaxFloats = uint64_t{1} << 31;
  if (x.stride > kMaxFloats / std::max(rows, 1u)) {
    fail(ErrorCode::kUnsupported,
         "attention over {} rows of {} floats is more than shaders can index: lower --gpu-rows",
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

// The push constants; attend_pages.comp has the same block.
struct PagedAttendPush {
  uint64_t q, pages, rows_of, out;
  uint32_t q_stride, out_stride;
  uint32_t page_bytes, head_bytes, key_bytes;
  uint32_t row0, head0;
  uint32_t group, kv_head0;
  uint32_t key_length, value_length;
  float scale;
  uint32_t zero;
};
static_assert(sizeof(PagedAttendPush) == 88);

PagedAttendPush push_of(const PagedAttendCall& call, const AddressOf& address) {
  const KvPages& pages = call.pages;
  return {.q = address(call.q.at),
          .pages = address(pages.at),
          .rows_of = address(call.rows_of),
          .out = address(call.out.at),
          .q_stride = checked_stride(call.q, call.rows),
          .out_stride = checked_stride(call.out, call.rows),
          .page_bytes = checked_page_bytes(pages.stride),
          .head_bytes = static_cast<uint32_t>(pages.head_bytes()),
          .key_bytes = static_cast<uint32_t>(kv_half_bytes(pages.type, pages.key_length)),
          .row0 = 0,
          .head0 = 0,
          .group = call.group,
          .kv_head0 = call.kv_head0,
          .key_length = pages.key_length,
          .value_length = pages.value_length,
          .scale = call.scale,
          .zero = 0};
}

// The push constants; attend_latent.comp has the same block.
struct LatentAttendPush {
  uint64_t q, q_rope, pages, rows_of, out;
  uint32_t q_stride, rope_stride, out_stride;
  uint32_t q_head, rope_head;
  uint32_t page_bytes;
  uint32_t row0, head0;
  uint32_t key_length, value_length;
  float scale;
  uint32_t zero;
};
static_assert(sizeof(LatentAttendPush) == 88);

LatentAttendPush push_of(const LatentAttendCall& call, const AddressOf& address) {
  return {.q = address(call.q.at),
          .q_rope = address(call.q_rope.at),
          .pages = address(call.pages.at),
          .rows_of = address(call.rows_of),
          .out = address(call.out.at),
          .q_stride = checked_stride(call.q, call.rows),
          .rope_stride = checked_stride(call.q_rope, call.rows),
          .out_stride = checked_stride(call.out, call.rows),
          .q_head = call.q_head,
          .rope_head = call.rope_head,
          .page_bytes = checked_page_bytes(call.pages.stride),
          .row0 = 0,
          .head0 = 0,
          .key_length = call.pages.length,
          .value_length = call.kv_lora_rank,
          .scale = call.scale,
          .zero = 0};
}

// The numbers from which dispatches of attention are made, whatever memory has the keys and values.
struct AttendWork {
  uint32_t rows = 0, heads = 0, group = 1;
  uint32_t positions = 0;  // the most positions that a row sees
  uint32_t key_length = 0, value_length = 0;
  uint32_t max_length = kMaxHeadDim;  // the larger of key_length and value_length
};

// Returns dispatches that each take some rows of some heads. They are copies of `like`, and `push`
// is what the first of them pushes.
template <typename Push>
std::vector<Dispatch> split_attention(const AttendWork& work, Dispatch like, Push push) {
  HEARTH_CHECK(work.group > 0, "attention in groups of no heads");
  if (std::max(work.key_length, work.value_length) > work.max_length) {
    fail(ErrorCode::kUnsupported,
         "attention has keys of {} and values of {} elements, and shaders support at most {}: run "
         "the model on the cores",
         work.key_length, work.value_length, work.max_length);
  }
  const uint64_t products =
      uint64_t{std::max(work.positions, 1u)} * std::max(work.key_length + work.value_length, 1u);
  const uint64_t most = std::clamp<uint64_t>(kMaxProducts / products, 1, kMaxGroups);
  const uint32_t rows = static_cast<uint32_t>(std::min<uint64_t>(std::max(work.rows, 1u), most));
  const uint32_t heads = static_cast<uint32_t>(std::max<uint64_t>(most / rows, 1));
  const uint32_t chunks = (work.value_length + kInvocations - 1) / kInvocations;
  like.constants.insert(like.constants.begin(), chunks);

  std::vector<Dispatch> dispatches;
  for (push.head0 = 0; push.head0 < work.heads; push.head0 += heads) {
    for (push.row0 = 0; push.row0 < work.rows; push.row0 += rows) {
      Dispatch& dispatch = dispatches.emplace_back(like);
      dispatch.set_push(push);
      dispatch.groups = {std::min(rows, work.rows - push.row0),
                         std::min(heads, work.heads - push.head0), 1};
    }
  }
  return dispatches;
}

}  // namespace

// Counts each row as if it saw all rows of the step. The positions that it really sees lie in the
// accelerator's memory.
std::vector<Dispatch> dispatches_of(const AttendCall& call, const AddressOf& address) {
  const AttendWork work = {.rows = call.rows,
                           .heads = call.heads,
                           .group = call.group,
                           .positions = call.step_rows,
                           .key_length = call.key_length,
                           .value_length = call.value_length};
  return split_attention(work, {.shader = "attend"}, push_of(call, address));
}

// Counts each row as if it saw as many positions as the row that sees most.
std::vector<Dispatch> dispatches_of(const PagedAttendCall& call, const AddressOf& address) {
  const AttendWork work = {.rows = call.rows,
                           .heads = call.heads,
                           .group = call.group,
                           .positions = call.positions,
                           .key_length = call.pages.key_length,
                           .value_length = call.pages.value_length};
  const auto type = static_cast<uint32_t>(call.pages.type);
  return split_attention(work, {.shader = "attend_pages", .constants = {type}},
                         push_of(call, address));
}

std::vector<Dispatch> dispatches_of(const LatentAttendCall& call, const AddressOf& address) {
  const AttendWork work = {.rows = call.rows,
                           .heads = call.heads,
                           .positions = call.positions,
                           .key_length = call.pages.length,
                           .value_length = call.kv_lora_rank,
                           .max_length = kMaxLatentKey};
  const auto type = static_cast<uint32_t>(call.pages.type);
  return split_attention(work, {.shader = "attend_latent", .constants = {type}},
                         push_of(call, address));
}

}  // namespace hearth
