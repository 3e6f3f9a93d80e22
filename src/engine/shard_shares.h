// Computes shares, by which the axes are cut (AxisCuts): how much of the model each shard gets.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topology/placement.h"

namespace hearth {

// Returns shares in proportion to the threads on each shard; a thread on a core of a slower kind
// counts half. The shares are equal if each shard has at least 7/8 of the threads of the one with
// the most. The bandwidth of memory is then the same for all, and a core more or less would only
// make the shards uneven. `member_shards` is by seat.
std::vector<uint32_t> shares_by_threads(const Machine& machine, const Placement& placement,
                                        std::span<const uint32_t> member_shards, uint32_t shards);

// Moves shares from shards whose `bytes` (in proportion to the share) are more than their `room` to
// shards that have room left. Returns them unchanged if all fit, or if there is no room for all.
std::vector<uint32_t> shares_that_fit(const std::vector<uint32_t>& shares,
                                      std::span<const uint64_t> bytes,
                                      std::span<const uint64_t> room);

}  // namespace hearth
