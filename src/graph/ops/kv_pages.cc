#include "graph/ops/kv_pages.h"

namespace hearth {
namespace {

uint32_t half_floats(uint32_t length) {
  return static_cast<uint32_t>(kv_half_bytes(KvType::kF32, length) / sizeof(float));
}

}  // namespace

KvPages::KvPages(const Bundle& kv, uint32_t g, const std::vector<HeadSlice>& heads,
                 const AttentionShape& shape)
    : layer_(shape.layer),
      key_floats_(half_floats(shape.key_length)),
      head_floats_(key_floats_ + half_floats(shape.value_length)) {
  if (!kv.values.empty()) value_ = kv.values[g];
  uint32_t before = 0;
  for (const HeadSlice& slice : heads) {
    slots_.push_back({slice.shard, cached() ? slice.cached : before});
    before += slice.kv.size();
  }
}

uint32_t KvPages::row_floats(const std::vector<HeadSlice>& heads, const AttentionShape& shape) {
  uint32_t count = 0;
  for (const HeadSlice& slice : heads) count += slice.kv.size();
  return count * (half_floats(shape.key_length) + half_floats(shape.value_length));
}

}  // namespace hearth
