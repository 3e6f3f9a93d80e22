// Dispatches that make keys and values of latents, by shaders/expand_latent.comp.
#include <algorithm>
#include <vector>

#include "accelerator/vulkan/dispatch.h"
#include "base/error.h"

namespace hearth {
namespace {

// The push constants; shaders/expand_latent.comp has the same block.
struct ExpandPush {
  uint64_t from, key, value, to;
  uint32_t key_stride, value_stride;
  uint32_t from_bytes, to_bytes, head_bytes, key_bytes;
  uint32_t page0, head0;
  uint32_t positions;
  uint32_t kv_lora_rank, rope_length, nope_length, value_length;
  uint32_t zero;
};
static_assert(sizeof(ExpandPush) == 88);

constexpr uint32_t kExpandTile = 16;                        // elements of a workgroup
constexpr uint64_t kMaxExpandProducts = uint64_t{1} << 30;  // the most multiply-adds of a dispatch

// Returns the matrix's stride, checked: the shader counts elements from the first in 31 bits.
uint32_t checked_matrix(const FloatRows& matrix, uint64_t rows, uint64_t n) {
  if ((rows - 1) * matrix.stride + n > kMaxIndex) {
    fail(ErrorCode::kUnsupported,
         "matrices of {} rows of {} floats are more than shaders can index: run the model on the "
         "cores",
         rows, matrix.stride);
  }
  return static_cast<uint32_t>(matrix.stride);
}

}  // namespace

std::vector<Dispatch> dispatches_of(const LatentExpandCall& call, const AddressOf& address) {
  const KvPages& to = call.to;
  const uint32_t pages = pages_for(call.positions), latent = call.kv_lora_rank;
  if (pages == 0 || to.heads == 0) return {};
  ExpandPush push{
      .from = address(call.from.at),
      .key = address(call.key.at),
      .value = address(call.value.at),
      .to = address(to.at),
      .key_stride = checked_matrix(call.key, uint64_t{to.heads} * latent, call.nope_length()),
      .value_stride = checked_matrix(call.value, uint64_t{to.heads} * to.value_length, latent),
      .from_bytes = checked_page_bytes(call.from.stride),
      .to_bytes = checked_page_bytes(to.stride),
      .head_bytes = static_cast<uint32_t>(to.head_bytes()),
      .key_bytes = static_cast<uint32_t>(kv_half_bytes(to.type, to.key_length)),
      .page0 = 0,
      .head0 = 0,
      .positions = call.positions,
      .kv_lora_rank = latent,
      .rope_length = call.from.length - latent,
      .nope_length = call.nope_length(),
      .value_length = to.value_length,
      .zero = 0};
  const uint32_t tiles =
      (padded_length(to.key_length) + padded_length(to.value_length)) / kExpandTile;
  // The multiply-adds for one head and one page.
  const uint64_t products = uint64_t{kPagePositions} * latent * tiles * kExpandTile;
  const uint64_t most = std::clamp<uint64_t>(kMaxExpandProducts / products, 1, kMaxGroups);
  const auto heads = static_cast<uint32_t>(std::min<uint64_t>(to.heads, most));
  const auto height = static_cast<uint32_t>(std::max<uint64_t>(most / heads, 1));
  std::vector<Dispatch> dispatches;
  for (push.head0 = 0; push.head0 < to.heads; push.head0 += heads) {
    for (push.page0 = 0; push.page0 < pages; push.page0 += height) {
      Dispatch& d = dispatches.emplace_back(Dispatch{.shader = "expand_latent"});
      d.constants = {static_cast<uint32_t>(call.from.type)};
      d.set_push(push);
      d.groups = {tiles, std::min(heads, to.heads - push.head0),
                  std::min(height, pages - push.page0)};
    }
  }
  return dispatches;
}

}  // namespace hearth
