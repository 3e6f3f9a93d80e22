// Shared by ops over rows: how rows are dealt to threads, and the norm of a row.
#pragma once

#include "graph/context.h"
#include "graph/ops/rows.h"

namespace hearth {

// The contiguous rows that one thread gets, if rows are dealt to the threads of a group or of all
// groups.
struct RowRange {
  uint32_t begin, end;
};
inline RowRange deal_rows(uint32_t rows, uint32_t index, uint32_t count) {
  return {static_cast<uint32_t>(uint64_t{rows} * index / count),
          static_cast<uint32_t>(uint64_t{rows} * (index + 1) / count)};
}
inline RowRange rows_of(const Worker& worker, uint32_t rows) {
  return deal_rows(rows, worker.index, worker.count);
}

// Writes the norm of one row of x to `normed`, which may be x. `shard` names the copy of the
// weights to read.
inline void norm_row(const ExecutionContext& context, const NormWeight& norm, uint32_t shard,
                     const float* x, float* normed) noexcept {
  const uint32_t n = norm.weight->size;
  const float* weight = norm.weight->copies[shard];
  if (norm.kind == NormKind::kRms) {
    context.kernels().rms_norm({x, weight, n, norm.eps, normed});
  } else {
    const float* bias = norm.bias ? norm.bias->copies[shard] : nullptr;
    context.kernels().layer_norm({x, weight, bias, n, norm.eps, normed});
  }
}

// A target of norms. write() writes the norm of one row of x into every format of `out` that is
// wanted; without a norm it writes x. `normed` is a row of scratch, and may be x. `shard` names the
// copy of the weights to read.
struct NormTarget {
  NormWeight norm;
  uint32_t shard;
  ValueId out;
  uint32_t width;

  void write(ExecutionContext& context, const float* x, uint32_t row,
             float* normed) const noexcept {
    const float* row_of = x;
    if (norm.weight != nullptr) {
      norm_row(context, norm, shard, x, normed);
      row_of = normed;
    }
    for (size_t f = 0; f < kActFormats; ++f) {
      auto format = static_cast<ActFormat>(f);
      if (!context.wants(out, format)) continue;
      context.kernels().quantize[f]({row_of, 0, width, context.buffer(out, format), row});
    }
  }
};

inline uint32_t first_shard(const GraphBuilder& builder, uint32_t group) {
  return builder.plan().groups[group].share.shard_begin;
}

inline std::vector<uint32_t> same_width(const GraphBuilder& builder, uint32_t width) {
  return std::vector<uint32_t>(builder.group_count(), width);
}

template <typename MakeOp>
std::vector<std::unique_ptr<Op>> op_per_group(const GraphBuilder& builder, const MakeOp& make) {
  std::vector<std::unique_ptr<Op>> ops;
  for (uint32_t g = 0; g < builder.group_count(); ++g) ops.push_back(make(g));
  return ops;
}

}  // namespace hearth
