// A Placement says which PU each thread of a team sits on. Only PUs that affinity and cpuset allow
// are taken. One hyper-thread of each core is taken before second ones, faster kinds of core before
// slower ones, and a slow core before a fast core's second hyper-thread. Members of one node are
// neighbours, in node order. Within a node threads spread over its LLC groups, since each group
// adds bandwidth.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topology/machine.h"

namespace hearth {

struct Seat {
  uint32_t pu = 0;    // operating system number
  uint32_t core = 0;  // indices into Machine
  uint32_t node = 0;
  bool operator==(const Seat&) const = default;
};

struct Placement {
  std::vector<Seat> seats;  // by team member
  // True if threads share a PU, or if cores of an invented machine do: waits will be slow.
  bool oversubscribed = false;

  // The nodes that have seats, in the order of the seats, and how many seats each has.
  struct NodeSeats {
    uint32_t node = 0, first = 0, count = 0;
    bool operator==(const NodeSeats&) const = default;
  };
  std::vector<NodeSeats> by_node() const;
  std::vector<uint32_t> pus() const;  // by team member
};

enum class NodePolicy {
  kSpread,   // the same number on every node, as far as nodes have PUs: bandwidth
  kCompact,  // as few nodes as have room for them, lowest first
};

struct PlacementOptions {
  uint32_t threads = 0;  // 0: default_thread_count()
  NodePolicy policy = NodePolicy::kSpread;
  std::vector<uint32_t> nodes = {};  // only these (indices); empty: all
  std::vector<uint32_t> pus = {};    // only these (operating system numbers); empty: all allowed
};

// Returns the nodes that `options` names, or all, rising, each once. Throws kUsage for one that
// does not exist.
std::vector<uint32_t> chosen_nodes(const Machine& machine, const PlacementOptions& options);
// Returns the allowed PUs of a core that `options` does not exclude.
std::vector<uint32_t> usable_pus(const Machine& machine, const PlacementOptions& options,
                                 const Core& core);

// The number of cores from which on one core is kept free for work besides the steps: requests,
// tokenizing, logging.
inline constexpr uint32_t kCoresThatSpareOne = 8;

// Returns how many threads a team has by default: one for each allowed core that `options` does not
// exclude. It is one less if these cores are at least kCoresThatSpareOne and the process has no
// other core. It is at most the CPU quota, rounded up: with more threads the kernel would stop all
// of them in the middle of a step. `options.threads` is ignored.
uint32_t default_thread_count(const Machine& machine, const PlacementOptions& options = {});

// Gives each thread a PU. If there are more threads than allowed PUs, they share the PUs in turn.
// Throws kUsage for a node that does not exist, for a PU that this process may not use, and if no
// PU is left.
Placement place_threads(const Machine& machine, const PlacementOptions& options = {});

// Throws kUsage for a PU that this process may not use.
void check_pus(const Machine& machine, const std::vector<uint32_t>& pus);

// Returns the allowed PUs of cores without a seat of `placement`, ascending. Other work may run on
// them without disturbing the team.
std::vector<uint32_t> spare_pus(const Machine& machine, const Placement& placement);
// Returns the allowed PUs, rising, of all cores that have no PU in `pus`.
std::vector<uint32_t> pus_beside(const Machine& machine, const std::vector<uint32_t>& pus);

}  // namespace hearth
