#include "embed/pool_places.h"

#include <algorithm>
#include <map>

namespace hearth {
namespace {

// Returns the usable cores of a node, the highest first. They are sorted by their PUs and, for
// equal PUs (cores of an invented machine share them), by their own numbers.
std::vector<uint32_t> cores_down(const Machine& machine, const PlacementOptions& where,
                                 uint32_t node) {
  std::vector<uint32_t> cores;
  for (uint32_t core : machine.nodes[node].cores) {
    if (!usable_pus(machine, where, machine.cores[core]).empty()) cores.push_back(core);
  }
  bool invented = machine.source == MachineSource::kInvented;
  std::stable_sort(cores.begin(), cores.end(), [&](uint32_t a, uint32_t b) {
    uint32_t pu_a = machine.cores[a].pus[0], pu_b = machine.cores[b].pus[0];
    return invented || pu_a == pu_b ? a > b : pu_a > pu_b;
  });
  return cores;
}

}  // namespace

std::vector<PoolPlace> place_pools(const Machine& machine, const PlacementOptions& where,
                                   PoolSplit split) {
  place_threads(machine, where);  // refuses impossible options
  uint32_t threads = where.threads != 0 ? where.threads : default_thread_count(machine, where);
  std::vector<uint32_t> nodes = chosen_nodes(machine, where);
  std::vector<PoolPlace> places;
  uint32_t left = threads;
  for (auto node = nodes.rbegin(); node != nodes.rend() && left > 0; ++node) {
    std::vector<uint32_t> cores = cores_down(machine, where, *node);
    cores.resize(std::min<size_t>(cores.size(), left));
    if (cores.empty()) continue;
    left -= static_cast<uint32_t>(cores.size());
    if (places.empty() || split == PoolSplit::kNodes) places.emplace_back();
    PoolPlace& place = places.back();
    place.nodes.push_back(*node);
    place.threads += static_cast<uint32_t>(cores.size());
    for (uint32_t core : cores) {
      for (uint32_t pu : usable_pus(machine, where, machine.cores[core])) place.pus.push_back(pu);
    }
  }
  for (size_t turn = 0; left > 0; --left) ++places[turn++ % places.size()].threads;
  for (PoolPlace& place : places) {
    std::sort(place.nodes.begin(), place.nodes.end());
    std::sort(place.pus.begin(), place.pus.end());
    place.pus.erase(std::unique(place.pus.begin(), place.pus.end()), place.pus.end());
  }
  std::reverse(places.begin(), places.end());
  return places;
}

}  // namespace hearth
