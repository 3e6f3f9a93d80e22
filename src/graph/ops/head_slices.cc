#include "graph/ops/head_slices.h"

namespace hearth {

std::vector<HeadSlice> head_slices(const LinearOut& qkv, uint32_t group,
                                   const AttentionShape& shape) {
  std::vector<HeadSlice> heads;
  for (size_t local_shard = 0; local_shard < qkv.slices[0][group].size(); ++local_shard) {
    const RowSlice& q = qkv.slices[0][group][local_shard];
    const RowSlice& k = qkv.slices[1][group][local_shard];
    const RowSlice& v = qkv.slices[2][group][local_shard];
    const uint32_t d = shape.key_length;
    heads.push_back({k.shard,
                     {q.row / d, (q.row + q.rows) / d},
                     {k.row / d, (k.row + k.rows) / d},
                     k.first_row() / d,
                     q.column + q.lead,
                     k.column + k.lead,
                     v.column + v.lead});
  }
  return heads;
}

}  // namespace hearth
