#include "topology/placement.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"

namespace hearth {
namespace {

// The rank of a seat; lower ones are taken first: first hyper-threads of the fastest cores, then
// those of the next kind, then second hyper-threads.
struct Rank {
  size_t sibling;   // which hyper-thread of its core
  size_t slowness;  // 0: the fastest kind
  auto operator<=>(const Rank&) const = default;
};

using SeatsByNode = std::map<uint32_t, std::vector<Seat>>;

// Returns the cores of a node, taken in turn from its LLC groups.
std::vector<uint32_t> interleave_llcs(const Machine& machine, const NumaNode& node) {
  std::vector<uint32_t> order;
  for (size_t turn = 0; order.size() < node.cores.size(); ++turn) {
    for (uint32_t llc : node.llcs) {
      const std::vector<uint32_t>& cores = machine.llcs[llc].cores;
      if (turn < cores.size()) order.push_back(cores[turn]);
    }
  }
  return order;
}

std::map<Rank, SeatsByNode> rank_seats(const Machine& machine, const PlacementOptions& options) {
  std::map<Rank, SeatsByNode> ranks;
  for (uint32_t n : chosen_nodes(machine, options)) {
    for (uint32_t c : interleave_llcs(machine, machine.nodes[n])) {
      const Core& core = machine.cores[c];
      size_t sibling = 0;
      for (uint32_t pu : usable_pus(machine, options, core)) {
        Rank rank{sibling++, machine.kinds.size() - 1 - core.kind};
        ranks[rank][n].push_back({pu, c, n});
      }
    }
  }
  return ranks;
}

// Takes up to `wanted` seats of one rank. `taken[n]` counts the seats taken on node n so far.
void take(const SeatsByNode& offered, NodePolicy policy, size_t wanted,
          std::map<uint32_t, size_t>* taken, std::vector<Seat>* seats) {
  std::map<uint32_t, size_t> used;
  for (; wanted > 0; --wanted) {
    auto best = offered.end();
    for (auto at = offered.begin(); at != offered.end(); ++at) {
      if (used[at->first] == at->second.size()) continue;
      bool better = best == offered.end() ||
                    (policy == NodePolicy::kSpread && (*taken)[at->first] < (*taken)[best->first]);
      if (better) best = at;
    }
    if (best == offered.end()) return;
    seats->push_back(best->second[used[best->first]++]);
    ++(*taken)[best->first];
  }
}

bool share_pus(const Placement& placement) {
  std::vector<uint32_t> pus = placement.pus();
  std::sort(pus.begin(), pus.end());
  return std::adjacent_find(pus.begin(), pus.end()) != pus.end();
}

// Returns the allowed PUs of the cores that are not taken, rising.
std::vector<uint32_t> allowed_of_others(const Machine& machine, const std::vector<bool>& taken) {
  std::vector<uint32_t> others;
  for (uint32_t c = 0; c < machine.cores.size(); ++c) {
    if (taken[c]) continue;
    for (uint32_t pu : machine.cores[c].pus) {
      if (machine.is_allowed(pu)) others.push_back(pu);
    }
  }
  std::sort(others.begin(), others.end());
  return others;
}

}  // namespace

std::vector<uint32_t> chosen_nodes(const Machine& machine, const PlacementOptions& options) {
  std::vector<uint32_t> chosen = options.nodes;
  if (chosen.empty()) {
    for (uint32_t n = 0; n < machine.nodes.size(); ++n) chosen.push_back(n);
  }
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  if (chosen.back() >= machine.nodes.size()) {
    fail(ErrorCode::kUsage, "there is no NUMA node {}: this machine has {}", chosen.back(),
         machine.nodes.size());
  }
  return chosen;
}

std::vector<uint32_t> usable_pus(const Machine& machine, const PlacementOptions& options,
                                 const Core& core) {
  std::vector<uint32_t> usable;
  for (uint32_t pu : core.pus) {
    bool chosen = options.pus.empty() ||
                  std::find(options.pus.begin(), options.pus.end(), pu) != options.pus.end();
    if (chosen && machine.is_allowed(pu)) usable.push_back(pu);
  }
  return usable;
}

uint32_t default_thread_count(const Machine& machine, const PlacementOptions& options) {
  size_t cores = 0;
  for (uint32_t n : chosen_nodes(machine, options)) {
    for (uint32_t c : machine.nodes[n].cores) {
      cores += !usable_pus(machine, options, machine.cores[c]).empty();
    }
  }
  if (cores >= kCoresThatSpareOne && cores == machine.allowed_core_count()) --cores;
  if (machine.cpu_quota) {
    double most = std::max(1.0, std::ceil(*machine.cpu_quota));
    if (most < static_cast<double>(cores)) cores = static_cast<size_t>(most);
  }
  return static_cast<uint32_t>(std::max<size_t>(1, cores));
}

void check_pus(const Machine& machine, const std::vector<uint32_t>& pus) {
  for (uint32_t pu : pus) {
    if (machine.is_allowed(pu)) continue;
    fail(ErrorCode::kUsage,
         "this process may not use CPU {}: its cpuset or taskset does not include it; `hearth "
         "topo` lists the allowed CPUs",
         pu);
  }
}

Placement place_threads(const Machine& machine, const PlacementOptions& options) {
  check_pus(machine, options.pus);
  size_t threads = options.threads != 0 ? options.threads : default_thread_count(machine, options);
  std::map<Rank, SeatsByNode> ranks = rank_seats(machine, options);
  if (ranks.empty()) {
    fail(ErrorCode::kUsage,
         "none of the CPUs given is both on the chosen NUMA nodes and allowed by this process's "
         "cpuset or taskset; `hearth topo` lists the allowed CPUs");
  }
  Placement placement;
  std::map<uint32_t, size_t> taken;
  // The loop has several rounds only if there are more threads than PUs.
  while (placement.seats.size() < threads) {
    for (const auto& [rank, offered] : ranks) {
      take(offered, options.policy, threads - placement.seats.size(), &taken, &placement.seats);
    }
  }
  std::stable_sort(placement.seats.begin(), placement.seats.end(),
                   [](const Seat& a, const Seat& b) { return a.node < b.node; });
  placement.oversubscribed = share_pus(placement);
  return placement;
}

std::vector<uint32_t> spare_pus(const Machine& machine, const Placement& placement) {
  std::vector<bool> taken(machine.cores.size(), false);
  for (const Seat& seat : placement.seats) taken[seat.core] = true;
  return allowed_of_others(machine, taken);
}

std::vector<uint32_t> pus_beside(const Machine& machine, const std::vector<uint32_t>& pus) {
  std::vector<bool> taken(machine.cores.size(), false);
  for (uint32_t c = 0; c < machine.cores.size(); ++c) {
    for (uint32_t pu : machine.cores[c].pus) {
      if (std::find(pus.begin(), pus.end(), pu) != pus.end()) taken[c] = true;
    }
  }
  return allowed_of_others(machine, taken);
}

std::vector<uint32_t> Placement::pus() const {
  std::vector<uint32_t> all;
  for (const Seat& seat : seats) all.push_back(seat.pu);
  return all;
}

std::vector<Placement::NodeSeats> Placement::by_node() const {
  std::vector<NodeSeats> nodes;
  for (uint32_t i = 0; i < seats.size(); ++i) {
    if (nodes.empty() || nodes.back().node != seats[i].node) nodes.push_back({seats[i].node, i, 0});
    ++nodes.back().count;
  }
  return nodes;
}

}  // namespace hearth
