#include "graph/ops/weight_work.h"

#include <algorithm>
#include <cmath>

#include "kernels/gemm/gemm.h"

namespace hearth {
namespace {

size_t format_of(const Weight& weight) {
  return static_cast<size_t>(act_format_for(weight.type.kind));
}

}  // namespace

void WeightWork::add(const Weight& weight, const RowSlice& slice) {
  if (slice.rows == 0) return;
  const PackSpec& spec = weight.shards[slice.shard].spec;
  uint32_t end = slice.first_row() + slice.rows;
  // The group that reads the last row also reads the padding of the last panel.
  uint32_t read = (end == spec.rows ? spec.panels() * kPanelRows : end) - slice.first_row();
  size_t row_bytes = (spec.codes_panel_bytes() + spec.scales_panel_bytes()) / kPanelRows;
  bytes_.push_back({slice.shard, read * row_bytes,
                    uint64_t{slice.rows} * weight.type.source_row_bytes(weight.k)});
  row_operations_[format_of(weight)] += uint64_t{2} * slice.rows * spec.k;
}

void WeightWork::add(const Weight& weight, const GroupShare& share) {
  uint32_t ignored = 0;
  for (const RowSlice& slice : row_slices(weight, share, &ignored)) add(weight, slice);
}

void WeightWork::add(const Weight& weight, const Piece& piece) {
  if (piece.segments.size() == 0) return;
  const PackSpec& spec = weight.shards[piece.shard].spec;
  uint32_t begin = segment_blocks(weight, piece.shard, piece.segments.begin).begin;
  uint32_t end = segment_blocks(weight, piece.shard, piece.segments.end - 1).end;
  // The bytes of blocks are counted in proportion, since a super-block may lie across the end of a
  // segment.
  size_t panel_bytes = spec.codes_panel_bytes() + spec.scales_panel_bytes();
  auto bytes_before = [&](uint32_t block) { return panel_bytes * block / spec.blocks(); };
  size_t source_bytes = weight.type.source_row_bytes(weight.k) * spec.rows;
  auto source_before = [&](uint32_t column) {
    return source_bytes * (spec.k_origin + column) / weight.k;
  };
  uint32_t first = begin * kBlock, last = std::min(end * kBlock, spec.k), elements = last - first;
  bytes_.push_back({piece.shard, spec.panels() * (bytes_before(end) - bytes_before(begin)),
                    source_before(last) - source_before(first)});
  row_operations_[format_of(weight)] += uint64_t{2} * spec.rows * elements;
}

void WeightWork::add(const Weight& weight, uint32_t shard) {
  const PackSpec& spec = weight.shards[shard].spec;
  if (spec.rows == 0 || spec.k == 0) return;
  bytes_.push_back({shard, spec.codes_bytes() + spec.scales_bytes(),
                    weight.type.source_row_bytes(weight.k) * spec.rows * spec.k / weight.k});
  row_operations_[format_of(weight)] += uint64_t{2} * spec.rows * spec.k;
}

void WeightWork::add_to(const Mean& mean, const ArithmeticUnitSet& units, OpLoad* load) const {
  auto part = [](double share, uint64_t of) {
    return static_cast<uint64_t>(std::llround(share * static_cast<double>(of)));
  };
  for (const ShardBytes& of : bytes_) {
    load->of_shard(of.shard).weights += part(mean.read, of.packed);
    load->source_bytes += mean.read * static_cast<double>(of.source);
  }
  for (size_t f = 0; f < kActFormats; ++f) {
    load->of(arithmetic_unit_for(static_cast<ActFormat>(f), units)) +=
        part(mean.rows, row_operations_[f]);
  }
}

void WeightWork::add_to(uint32_t rows, const ArithmeticUnitSet& units, OpLoad* load) const {
  if (rows == 0) return;
  for (const ShardBytes& of : bytes_) {
    load->of_shard(of.shard).weights += of.packed;
    load->source_bytes += static_cast<double>(of.source);
  }
  for (size_t f = 0; f < kActFormats; ++f) {
    load->of(arithmetic_unit_for(static_cast<ActFormat>(f), units)) += rows * row_operations_[f];
  }
}

}  // namespace hearth
