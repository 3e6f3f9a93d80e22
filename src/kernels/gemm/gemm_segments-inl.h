// Products whose K is cut (GemmArgs::cuts), for kernels of one chain a call.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "kernels/gemm/gemm.h"

namespace hearth {
namespace {

// The scratch of a kernel of one chain ends here. The sums of right branches lie behind it, with a
// place for each level of the tree.
constexpr size_t kChainScratchBytes = size_t{512} << 10;
constexpr uint32_t kBranchRows = 256;
constexpr uint32_t kBranchPanels = 8;
static_assert(std::bit_width(kMaxCuts) * kBranchRows * kBranchPanels * kPanelRows * sizeof(float) <=
              kGemmScratchBytes - kChainScratchBytes);

// A product of one chain. Its prefetches stay within the blocks [stream0, stream1): the caller
// reads all of these blocks of the same panels before it goes on to the next panels.
struct ChainArgs : GemmArgs {
  uint32_t stream0, stream1;
};

inline ChainArgs one_chain(const GemmArgs& g) { return {g, g.block0, g.block1}; }

template <typename Chain>
void add_segments(const GemmArgs& g, uint32_t begin, uint32_t end, float* branch, Chain chain) {
  if (end - begin == 1) {
    ChainArgs segment = one_chain(g);
    segment.cuts = {};
    if (begin > 0) segment.block0 = g.cuts[begin - 1];
    if (begin < g.cuts.size()) segment.block1 = g.cuts[begin];
    chain(segment);
    return;
  }
  const uint32_t middle = begin + std::bit_floor(end - begin - 1);
  const size_t columns = size_t{kPanelRows} * g.panels;
  add_segments(g, begin, middle, branch, chain);
  GemmArgs right = g;
  right.out = branch;
  right.out_stride = columns;
  add_segments(right, middle, end, branch + g.m * columns, chain);
  for (size_t r = 0; r < g.m; ++r) {
    for (size_t c = 0; c < columns; ++c) g.out[g.out_stride * r + c] += branch[columns * r + c];
  }
}

// Returns how many panels a product takes at a time if its K is cut. If one tile has all rows,
// these are the panels of the schedule's tile; otherwise as many whole tiles as kBranchPanels
// holds.
inline uint32_t joint_panels(const GemmSchedule& s, uint32_t m) {
  return m <= s.tile_rows ? s.tile_panels : kBranchPanels / s.tile_panels * s.tile_panels;
}

// Calls chain(ChainArgs) for each segment of K, and adds up the outputs of the segments. It takes
// `panels_at_once` panels at a time.
template <typename Chain>
void for_segments(const GemmArgs& g, uint32_t panels_at_once, Chain chain) {
  if (g.m == 0) return;
  if (g.cuts.empty()) return chain(one_chain(g));
  auto* branches = reinterpret_cast<float*>(g.scratch + kChainScratchBytes);
  const uint32_t step = std::min(panels_at_once, kBranchPanels);
  for (uint32_t row = 0; row < g.m; row += kBranchRows) {
    for (uint32_t p = 0; p < g.panels; p += step) {
      GemmArgs some = g;
      some.panel0 += p;
      some.panels = std::min(step, g.panels - p);
      some.a = act_rows(g.a, row, 0);
      some.m = std::min(kBranchRows, g.m - row);
      some.out += g.out_stride * row + size_t{kPanelRows} * p;
      add_segments(some, 0, static_cast<uint32_t>(g.cuts.size()) + 1, branches, chain);
    }
  }
}

// Calls fn(begin, end) for the pieces of [0, total). These have at most `most` elements and are as
// even as possible. It is called once for an empty range.
template <typename Fn>
inline void for_even_pieces(uint32_t total, uint32_t most, Fn&& fn) {
  if (total <= most) return fn(0, total);  // without a division
  const uint32_t pieces = (total + most - 1) / most;
  auto cut = [&](uint32_t i) { return static_cast<uint32_t>(uint64_t{total} * i / pieces); };
  for (uint32_t i = 0; i < pieces; ++i) fn(cut(i), cut(i + 1));
}

}  // namespace
}  // namespace hearth
