// Dispatches that store keys and values, or latents, in pages, by shaders/kv_store.comp.
#include <algorithm>
#include <vector>

#include "accelerator/vulkan/dispatch.h"
#include "base/error.h"

namespace hearth {
namespace {

// The push constants; shaders/kv_store.comp has the same block.
struct KvStorePush {
  uint64_t k, v, slots, pages;
  uint32_t k_stride, v_stride;
  uint32_t page_bytes, head_bytes, key_bytes;
  uint32_t key_length, value_length, key_groups;
  uint32_t zero;
};

constexpr uint32_t kStoreGroup = 128;  // elements of a workgroup: 64 invocations of 2
constexpr uint64_t kStoreElements = uint64_t{1} << 26;  // the most of a dispatch

uint32_t store_groups(uint32_t length) {
  return (padded_length(length) + kStoreGroup - 1) / kStoreGroup;
}

// Returns how many rows one dispatch takes at most.
uint64_t store_height(const KvStoreCall& call) {
  const uint64_t key = call.pages.key_length, value = call.pages.value_length;
  const uint64_t heads = call.pages.heads, longest = heads * std::max(key, value);
  if (heads > kMaxGroups || longest > kMaxIndex) {
    fail(ErrorCode::kUnsupported, "keys of {} heads of {} are longer than shaders can index", heads,
         std::max(key, value));
  }
  const uint64_t stride = std::max<uint64_t>({call.k.stride, call.v.stride, 1});
  return std::min({kMaxGroups, std::max<uint64_t>(kStoreElements / (heads * (key + value)), 1),
                   (kMaxIndex - longest) / stride + 1});
}

}  // namespace

uint32_t checked_page_bytes(uint64_t stride) {
  if (stride > UINT32_MAX) {
    fail(ErrorCode::kUnsupported, "pages of {} bytes are longer than shaders can index", stride);
  }
  return static_cast<uint32_t>(stride);
}

std::vector<Dispatch> dispatches_of(const KvStoreCall& call, const AddressOf& address) {
  const KvPages& pages = call.pages;
  if (call.rows == 0 || pages.heads == 0) return {};
  const uint64_t height = store_height(call);
  const uint32_t key_groups = store_groups(pages.key_length);
  std::vector<Dispatch> dispatches;
  for (uint64_t row = 0; row < call.rows; row += height) {
    Dispatch& d = dispatches.emplace_back(Dispatch{.shader = "kv_store"});
    d.constants = {static_cast<uint32_t>(pages.type), 0};
    d.set_push(
        KvStorePush{.k = address(call.k.at) + sizeof(float) * call.k.stride * row,
                    .v = address(call.v.at) + sizeof(float) * call.v.stride * row,
                    .slots = address(call.slots) + sizeof(uint32_t) * row,
                    .pages = address(pages.at),
                    .k_stride = static_cast<uint32_t>(call.k.stride),
                    .v_stride = static_cast<uint32_t>(call.v.stride),
                    .page_bytes = checked_page_bytes(pages.stride),
                    .head_bytes = static_cast<uint32_t>(pages.head_bytes()),
                    .key_bytes = static_cast<uint32_t>(kv_half_bytes(pages.type, pages.key_length)),
                    .key_length = pages.key_length,
                    .value_length = pages.value_length,
                    .key_groups = key_groups,
                    .zero = 0});
    d.groups = {key_groups + store_groups(pages.value_length), pages.heads,
                static_cast<uint32_t>(std::min(height, call.rows - row))};
  }
  return dispatches;
}

// Stores latents like keys: each copy is stored like a head without values.
std::vector<Dispatch> dispatches_of(const LatentStoreCall& call, const AddressOf& address) {
  const LatentPages& pages = call.pages;
  const uint64_t elements = uint64_t{pages.copies} * pages.length;
  if (elements == 0) return {};
  if (pages.copies > kMaxGroups) {
    fail(ErrorCode::kUnsupported, "{} copies of latents are more than shaders can index",
         pages.copies);
  }
  const uint64_t height =
      std::min({kMaxGroups, std::max<uint64_t>(kStoreElements / elements, 1),
                (kMaxIndex - pages.length) / std::max<uint64_t>(call.x.stride, 1) + 1});
  std::vector<Dispatch> dispatches;
  for (uint64_t row = 0; row < call.rows; row += height) {
    Dispatch& d = dispatches.emplace_back(Dispatch{.shader = "kv_store"});
    d.constants = {static_cast<uint32_t>(pages.type), 1};
    d.set_push(KvStorePush{.k = address(call.x.at) + sizeof(float) * call.x.stride * row,
                           .v = 0,
                           .slots = address(call.slots) + sizeof(uint32_t) * row,
                           .pages = address(pages.at),
                           .k_stride = static_cast<uint32_t>(call.x.stride),
                           .v_stride = 0,
                           .page_bytes = checked_page_bytes(pages.stride),
                           .head_bytes = static_cast<uint32_t>(pages.copy_bytes()),
                           .key_bytes = 0,
                           .key_length = pages.length,
                           .value_length = 0,
                           .key_groups = store_groups(pages.length),
                           .zero = 0});
    d.groups = {store_groups(pages.length), pages.copies,
                static_cast<uint32_t>(std::min(height, call.rows - row))};
  }
  return dispatches;
}

}  // namespace hearth
