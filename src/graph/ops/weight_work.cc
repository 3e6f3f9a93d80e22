#include "graph/ops/weight_work.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/gemm/gemm.h"

namespace hearth {
namespace {

Unit unit_for(const Weight& weight) {
  switch (act_format_for(pack_kind_for(weight.dtype))) {
    case ActFormat::kQ8:
      return Unit::kInt8;
    case ActFormat::kBF16:
      return Unit::kBF16;
    case ActFormat::kF32:
      return Unit::kF32;
  }
  HEARTH_CHECK(false, "not an ActFormat");
}

}  // namespace

void WeightWork::add(const Weight& weight, const RowSlice& slice) {
  if (slice.rows == 0) return;
  const PackSpec& spec = weight.shards[slice.shard].spec;
  uint32_t end = slice.first_row() + slice.rows;
  // The padding of the last panel is read by whoever reads the last row.
  uint32_t read = (end == spec.rows ? spec.panels() * kPanelRows : end) - slice.first_row();
  size_t row_bytes = (spec.codes_panel_bytes() + spec.scales_panel_bytes()) / kPanelRows;
  one_row_.bytes += read * row_bytes;
  one_row_.of(unit_for(weight)) += uint64_t{2} * slice.rows * spec.k;
}

void WeightWork::add(const Weight& weight, const Piece& piece) {
  if (piece.segments.size() == 0) return;
  const PackSpec& spec = weight.shards[piece.shard].spec;
  uint32_t begin = segment_blocks(weight, piece.shard, piece.segments.begin).begin;
  uint32_t end = segment_blocks(weight, piece.shard, piece.segments.end - 1).end;
  // In proportion, since super-blocks need not end where segments do.
  size_t panel_bytes = spec.codes_panel_bytes() + spec.scales_panel_bytes();
  auto bytes_before = [&](uint32_t block) { return panel_bytes * block / spec.blocks(); };
  one_row_.bytes += spec.panels() * (bytes_before(end) - bytes_before(begin));
  uint32_t elements = std::min(end * kBlock, spec.k) - begin * kBlock;
  one_row_.of(unit_for(weight)) += uint64_t{2} * spec.rows * elements;
}

OpWork WeightWork::of(uint32_t rows) const {
  OpWork work;
  if (rows == 0) return work;
  work.bytes = one_row_.bytes;
  for (size_t u = 0; u < kUnits; ++u) work.operations[u] = rows * one_row_.operations[u];
  return work;
}

}  // namespace hearth
