#include "tensor/axis_cuts.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace hearth {
namespace {

// Returns boundary i of `n` even parts of `total`.
uint32_t even_boundary(uint32_t total, uint32_t i, uint32_t n) {
  return static_cast<uint32_t>(uint64_t{total} * i / n);
}

// Cuts a shard into segments that meet at multiples of `step` units, as evenly as `step` allows.
std::vector<UnitRange> cut_segments(UnitRange shard, uint32_t step) {
  std::vector<UnitRange> segments;
  if (shard.size() == 0) return segments;
  uint32_t first = shard.begin / step;
  uint32_t count = (shard.end + step - 1) / step - first;
  uint32_t pieces = std::min(count, kSegments);
  auto boundary = [&](uint32_t i) {
    return std::clamp((first + even_boundary(count, i, pieces)) * step, shard.begin, shard.end);
  };
  for (uint32_t i = 0; i < pieces; ++i) segments.push_back({boundary(i), boundary(i + 1)});
  return segments;
}

UnitRange widen(UnitRange range, uint32_t coarse) {
  uint32_t begin = range.begin / coarse;
  return {begin, range.size() == 0 ? begin : (range.end + coarse - 1) / coarse};
}

}  // namespace

AxisCuts::AxisCuts(uint32_t units, uint32_t granule, std::span<const uint32_t> shares,
                   uint32_t coarse)
    : units_(units) {
  HEARTH_CHECK(units > 0 && granule > 0 && coarse > 0 && !shares.empty(),
               "an axis has units and shards");
  uint64_t total = std::accumulate(shares.begin(), shares.end(), uint64_t{0});
  HEARTH_CHECK(total > 0, "some shard takes a share");
  uint32_t granules = (units + granule - 1) / granule;
  auto unit_at = [&](uint32_t g) { return std::min(g * granule, units); };

  uint64_t before = 0;
  uint32_t begin = 0;
  for (uint32_t share : shares) {
    before += share;
    // The end of a share is rounded to the nearest granule. The last share above 0 ends at
    // `granules` exactly.
    auto end = static_cast<uint32_t>((granules * before + total / 2) / total);
    shards_.push_back({unit_at(begin), unit_at(end)});
    segments_.push_back(cut_segments(shards_.back(), std::lcm(granule, coarse)));
    begin = end;
  }
  HEARTH_CHECK(shards_.back().end == units_, "the shards cover the axis");
}

AxisCuts AxisCuts::widened(uint32_t coarse) const {
  AxisCuts wide = *this;
  wide.units_ = (units_ + coarse - 1) / coarse;
  for (UnitRange& shard : wide.shards_) shard = widen(shard, coarse);
  for (std::vector<UnitRange>& segments : wide.segments_) {
    for (UnitRange& segment : segments) segment = widen(segment, coarse);
    for (size_t i = 1; i < segments.size(); ++i) {
      HEARTH_CHECK(segments[i - 1].end == segments[i].begin,
                   "segments of a shard share no coarse unit");
    }
  }
  return wide;
}

UnitRange AxisCuts::part_segments(uint32_t s, uint32_t part, uint32_t parts) const {
  HEARTH_CHECK(part < parts, "a part is one of `parts`");
  auto count = static_cast<uint32_t>(segments_[s].size());
  return {even_boundary(count, part, parts), even_boundary(count, part + 1, parts)};
}

UnitRange AxisCuts::part_units(uint32_t s, uint32_t part, uint32_t parts) const {
  UnitRange range = part_segments(s, part, parts);
  const std::vector<UnitRange>& segments = segments_[s];
  if (range.size() == 0) return {shards_[s].begin, shards_[s].begin};
  return {segments[range.begin].begin, segments[range.end - 1].end};
}

std::vector<UnitRange> tree_pieces(uint32_t begin, uint32_t end, uint32_t leaves) {
  std::vector<UnitRange> pieces;
  while (begin < end) {
    uint32_t width = 1;
    // The subtree grows as long as it stays aligned. It may reach past the range only if the range
    // ends where the tree ends.
    while (begin % (2 * width) == 0 && begin + width < end &&
           (begin + 2 * width <= end || end == leaves)) {
      width *= 2;
    }
    uint32_t stop = std::min(begin + width, leaves);
    pieces.push_back({begin, stop});
    begin = stop;
  }
  return pieces;
}

}  // namespace hearth
