#include "graph/ops/kv_pages.h"

namespace hearth {
namespace {

uint32_t half_floats(uint32_t length) {
  return static_cast<uint32_t>(kv_half_bytes(KvType::kF32, length) / sizeof(float));
}

}  // namespace

std::vector<HeadSlice> head_slices(const LinearOut& qkv, uint32_t group,
                                   const AttentionShape& shape) {
  std::vector<HeadSlice> heads;
  for (size_t local_shard = 0; local_shard < qkv.slices[0][group].size(); ++local_shard) {
    const RowSlice& q = qkv.slices[0][group][local_shard];
    const RowSlice& k = qkv.slices[1][group][local_shard];
    const RowSlice& v = qkv.slices[2][group][local_shard];
    const uint32_t d = shape.key_length;
    heads.push_back({k.shard,
                     {q.row / shape.query_stride(), (q.row + q.rows) / shape.query_stride()},
                     {k.row / d, (k.row + k.rows) / d},
                     k.first_row() / d,
                     q.column + q.lead,
                     k.column + k.lead,
                     v.column + v.lead});
  }
  return heads;
}

GroupKvPages::GroupKvPages(const Bundle& kv, uint32_t g, const std::vector<HeadSlice>& heads,
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

uint32_t GroupKvPages::row_floats(const std::vector<HeadSlice>& heads,
                                  const AttentionShape& shape) {
  uint32_t count = 0;
  for (const HeadSlice& slice : heads) count += slice.kv.size();
  return count * (half_floats(shape.key_length) + half_floats(shape.value_length));
}

}  // namespace hearth
