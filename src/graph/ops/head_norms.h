// Norms queries and keys over all heads of a row together: by layer norms, as in jina-bert-v2 for
// code, or by RMS norms, as in MiniMax-M2. Norms of each head by itself are part of
// rope_and_store() (graph/ops/attention.h).
//
// The heads of a row are spread over all groups. So each group computes the moments (mean and sum
// of squared deviations) of every head that it has, and the groups meet. Then each group merges the
// moments of all heads, in the order of the model's heads (kernels/norm/norm.h), and norms its own
// heads. The result depends only on the heads, not on how groups share them. For each row and head,
// 8 bytes go to each other group.
#pragma once

#include <string>

#include "graph/ops/attention.h"
#include "graph/ops/rows.h"

namespace hearth {

// Norms the Q and K rows (parts 0 and 1 of `qkv`) in place, both with one kind of norm. Weights and
// biases: [heads * key_length] and [kv_heads * key_length]. A cross-group point stands between the
// two nodes that it appends.
void whole_head_norms(GraphBuilder& builder, const std::string& name, const LinearOut& qkv,
                      const AttentionShape& shape, const NormWeight& queries,
                      const NormWeight& keys);

}  // namespace hearth
