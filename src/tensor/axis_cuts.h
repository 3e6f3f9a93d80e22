// AxisCuts says how one axis of a model is cut over the NUMA nodes. An axis is cut once, and every
// weight on it shares the cuts. The rows of gate and up are the columns of down; the rows of Q, K
// and V by KV head are the columns of O.
//
// An axis has `units` (some query heads, 32 FFN rows, 16 vocabulary rows). Shard s owns a
// contiguous range of units, which is divided into at most kSegments segments. Column-cut weights
// sum each segment apart, and merge the sums by a fixed binary tree (the numerical contract). A
// group that is smaller than a node takes whole segments, so no sum depends on the number of
// groups.
//
// Every boundary but the end is a multiple of `granule` units, so that K ranges start at multiples
// of 32 elements. Shards may be empty or of unequal size.
//
// Some weights of an axis have coarse units, each as long as several consecutive units: K and V
// have one head for a whole group of heads of Q. Two shards may meet inside a coarse unit, but two
// segments of one shard may not. A widened axis counts in coarse units. If two shards divide a
// coarse unit, both hold all of it. So on a widened axis the ranges of shards may overlap, while
// the ranges of one shard's segments never do.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hearth {

inline constexpr uint32_t kSegments = 8;

struct UnitRange {
  uint32_t begin = 0, end = 0;
  uint32_t size() const { return end - begin; }
  bool operator==(const UnitRange&) const = default;
};

class AxisCuts {
 public:
  // Cuts `units` among `shares.size()` shards in proportion to the shares (not all zero). Segments
  // of a shard meet at multiples of `coarse` units as well as of `granule` units.
  AxisCuts(uint32_t units, uint32_t granule, std::span<const uint32_t> shares, uint32_t coarse = 1);

  // Returns the widened axis, whose units are `coarse` units of this one each. Each of its ranges
  // holds every coarse unit that the same range of this axis touches.
  AxisCuts widened(uint32_t coarse) const;

  uint32_t units() const { return units_; }
  uint32_t shard_count() const { return static_cast<uint32_t>(shards_.size()); }
  UnitRange shard(uint32_t s) const { return shards_[s]; }
  std::span<const UnitRange> segments(uint32_t s) const { return segments_[s]; }

  // Returns part `part` of `parts` of shard s as a range of indices into segments(s). Parts are as
  // even as whole segments allow.
  UnitRange part_segments(uint32_t s, uint32_t part, uint32_t parts) const;
  // Returns the same part as a range of units, empty if the shard has fewer segments than parts.
  UnitRange part_units(uint32_t s, uint32_t part, uint32_t parts) const;

 private:
  uint32_t units_;
  std::vector<UnitRange> shards_;
  std::vector<std::vector<UnitRange>> segments_;
};

// Returns the largest aligned subtrees that together cover [begin, end), of a binary tree over
// leaves 0, 1, 2, ... A group hands over the partial sums of its segments in these pieces. A
// subtree [a, b) is aligned when its width is a power of two that divides a. The last subtree may
// reach past `leaves`; its end is then cut to `leaves`.
std::vector<UnitRange> tree_pieces(uint32_t begin, uint32_t end, uint32_t leaves);

}  // namespace hearth
