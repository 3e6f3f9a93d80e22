// An activation plan says where each value of a graph lies in its arena, so that values alive at
// the same time never overlap and the arena is small. A chain of equal layers takes the memory of
// one layer.
//
// Offsets are assigned by size: values are placed from the largest to the smallest, each in the
// tightest gap between those already placed that live at the same time ("greedy by size for offset
// calculation", Pisarchyk and Lee, Efficient Memory Management for Deep Neural Net Inference,
// 2020). Two more orders are tried, from the longest-lived to the shortest and by bytes times
// lifetime. Each order is tried again up to 7 times: the values that ended highest are then placed
// first. The smallest result is taken: on random graphs 0.5 % above the lower bound on average.
// Equal input gives equal offsets.
//
// An arena may consist of several pieces of memory, if no single piece is large enough. Then each
// value lies in one piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hearth {

// `first_use` and `last_use` are inclusive times (indices of ops in their order); first <= last.
// `align` is a power of two. 0 bytes are allowed and take no room.
struct ActivationValue {
  size_t bytes = 0;
  size_t align = 64;
  uint32_t first_use = 0, last_use = 0;
};

// Offsets count through all pieces: offset o lies in piece o / piece_bytes, o % piece_bytes bytes
// after its base. Each base must have the largest alignment.
struct ActivationPlan {
  std::vector<size_t> offsets;  // by value
  std::vector<size_t> pieces;   // bytes of each piece; empty if all values are empty
  size_t peak_bytes = 0;        // of all pieces
};

// Makes a plan. `piece_bytes` is the most that a piece may have, a multiple of all alignments, and
// no value is longer. By default there is one piece.
ActivationPlan plan_activations(std::span<const ActivationValue> values,
                                size_t piece_bytes = SIZE_MAX);

// Returns the most bytes alive at any one time: no plan can need less.
size_t max_live_bytes(std::span<const ActivationValue> values);

}  // namespace hearth
