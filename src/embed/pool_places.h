// Chooses the cores of CPU pools (WindVE, Huang et al. 2025, section IV-D): pools take cores from
// the highest number down, node by node. The lowest cores stay for reading, tokenizing and sending.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/machine.h"
#include "topology/placement.h"

namespace hearth {

enum class PoolSplit : uint8_t {
  kNodes,  // a pool for every node, each with a copy of the model
  kOne,    // one pool for all, whose copy is cut over the nodes
};

struct PoolPlace {
  std::vector<uint32_t> nodes;  // machine nodes, rising
  std::vector<uint32_t> pus;    // the PUs of the cores taken, rising
  uint32_t threads = 0;
};

// Returns the places of `where.threads` threads (0: default_thread_count()) on the part of the
// machine that `where` allows: a core for each, from the last node and its highest core on. Threads
// beyond the number of cores are dealt out to the places in turn. Never empty. Throws Error
// (kUsage) as place_threads() does.
std::vector<PoolPlace> place_pools(const Machine& machine, const PlacementOptions& where,
                                   PoolSplit split);

// Returns whether the options leave open how many threads there are, and where.
inline bool sits_anywhere(const PlacementOptions& where) {
  return where.threads == 0 && where.nodes.empty() && where.pus.empty();
}

}  // namespace hearth
