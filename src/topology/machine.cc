#include "topology/machine.h"

#include <algorithm>

#include "base/enum_name.h"
#include "base/error.h"

namespace hearth {

const char* thp_mode_name(ThpMode mode) {
  return enum_name<ThpMode::kAlways>({"unavailable", "never", "madvise", "always"}, mode);
}

Machine Machine::invented(uint32_t nodes, uint32_t cores_per_node) {
  // The limit on invented nodes and cores: above any computer, and low enough not to exhaust
  // memory.
  constexpr uint32_t kMax = 4096;
  if (nodes == 0 || cores_per_node == 0 || nodes > kMax || cores_per_node > kMax) {
    fail(ErrorCode::kUsage, "{} invented nodes of {} cores: both must lie between 1 and {}", nodes,
         cores_per_node, kMax);
  }
  Machine real = live();
  Machine machine;
  machine.source = MachineSource::kInvented;
  machine.description = fmt::format("invented {} nodes x {}", nodes, cores_per_node);
  machine.cpu_name = real.cpu_name;
  machine.allowed_pus = real.allowed_pus;
  machine.cpu_quota = real.cpu_quota;
  machine.memory_limit = real.memory_limit;
  machine.memory_available = real.memory_available;
  machine.thp = real.thp;
  machine.kinds.emplace_back();
  machine.packages.emplace_back();
  machine.distances.assign(nodes, std::vector<uint32_t>(nodes, 20));
  for (uint32_t n = 0; n < nodes; ++n) {
    machine.packages[0].nodes.push_back(n);
    machine.distances[n][n] = 10;
    NumaNode node;
    node.os_index = n;
    node.memory_bytes = std::max<uint64_t>(1, real.memory_available / nodes);
    node.llcs = {n};
    LlcGroup llc;
    llc.node = n;
    for (uint32_t c = 0; c < cores_per_node; ++c) {
      auto index = static_cast<uint32_t>(machine.cores.size());
      Core core;
      core.node = core.llc = n;
      core.pus = {real.allowed_pus[index % real.allowed_pus.size()]};
      node.cores.push_back(index);
      llc.cores.push_back(index);
      machine.kinds[0].cores.push_back(index);
      machine.cores.push_back(std::move(core));
    }
    machine.nodes.push_back(std::move(node));
    machine.llcs.push_back(std::move(llc));
  }
  return machine;
}

bool Machine::is_allowed(uint32_t pu) const {
  return std::binary_search(allowed_pus.begin(), allowed_pus.end(), pu);
}

std::optional<uint32_t> Machine::node_numbered(uint32_t os_index) const {
  for (uint32_t n = 0; n < nodes.size(); ++n) {
    if (nodes[n].os_index == os_index) return n;
  }
  return {};
}

uint32_t Machine::memory_node(uint32_t node) const {
  auto usable = [&](uint32_t n) { return nodes[n].memory_bytes > 0 && nodes[n].memory_allowed; };
  if (usable(node)) return node;
  uint32_t best = node, best_distance = UINT32_MAX;
  for (uint32_t n = 0; n < nodes.size(); ++n) {
    if (usable(n) && distances[node][n] < best_distance) {
      best = n;
      best_distance = distances[node][n];
    }
  }
  return best;
}

bool Machine::core_allowed(uint32_t core) const {
  const std::vector<uint32_t>& pus = cores[core].pus;
  return std::any_of(pus.begin(), pus.end(), [&](uint32_t pu) { return is_allowed(pu); });
}

uint32_t Machine::allowed_core_count() const {
  uint32_t count = 0;
  for (uint32_t c = 0; c < cores.size(); ++c) count += core_allowed(c);
  return count;
}

}  // namespace hearth
