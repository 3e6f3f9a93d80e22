#include "graph/ops/weight_work.h"

#include <algorithm>

#include "kernels/gemm/gemm.h"

namespace hearth {
namespace {

size_t format_of(const Weight& weight) {
  return static_cast<size_t>(act_format_for(pack_kind_for(weight.dtype)));
}

}  // namespace

void WeightWork::add(const Weight& weight, const RowSlice& slice) {
  if (slice.rows == 0) return;
  const PackSpec& spec = weight.shards[slice.shard].spec;
  uint32_t end = slice.first_row() + slice.rows;
  // The padding of the last panel is read by whoever reads the last row.
  uint32_t read = (end == spec.rows ? spec.panels() * kPanelRows : end) - slice.first_row();
  size_t row_bytes = (spec.codes_panel_bytes() + spec.scales_panel_bytes()) / kPanelRows;
  bytes_ += read * row_bytes;
  row_operations_[format_of(weight)] += uint64_t{2} * slice.rows * spec.k;
}

void WeightWork::add(const Weight& weight, const Piece& piece) {
  if (piece.segments.size() == 0) return;
  const PackSpec& spec = weight.shards[piece.shard].spec;
  uint32_t begin = segment_blocks(weight, piece.shard, piece.segments.begin).begin;
  uint32_t end = segment_blocks(weight, piece.shard, piece.segments.end - 1).end;
  // In proportion, since super-blocks need not end where segments do.
  size_t panel_bytes = spec.codes_panel_bytes() + spec.scales_panel_bytes();
  auto bytes_before = [&](uint32_t block) { return panel_bytes * block / spec.blocks(); };
  bytes_ += spec.panels() * (bytes_before(end) - bytes_before(begin));
  uint32_t elements = std::min(end * kBlock, spec.k) - begin * kBlock;
  row_operations_[format_of(weight)] += uint64_t{2} * spec.rows * elements;
}

OpWork WeightWork::of(uint32_t rows, const UnitSet& units) const {
  OpWork work;
  if (rows == 0) return work;
  work.bytes = bytes_;
  for (size_t f = 0; f < kActFormats; ++f) {
    work.of(unit_for(static_cast<ActFormat>(f), units)) += rows * row_operations_[f];
  }
  return work;
}

}  // namespace hearth
