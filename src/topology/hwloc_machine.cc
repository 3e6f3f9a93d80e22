// Makes a Machine from an hwloc topology: live, XML or synthetic. hwloc 2 attaches NUMA nodes as
// memory children, not as levels, so cores find their node by CPU sets.
#include <hwloc.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <tuple>

#include "base/error.h"
#include "topology/cgroup.h"
#include "topology/machine.h"
#include "topology/system_memory.h"

namespace hearth {
namespace {

struct TopologyDeleter {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, TopologyDeleter>;

Topology init_topology() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) {
    fail(ErrorCode::kResource, "hwloc cannot start: {}", std::strerror(errno));
  }
  Topology owner(topology);
  // Nodes and CPUs that this process may not use are included, so that nodes keep their numbers.
  hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  return owner;
}

// Returns the largest cache around a core; null if none is known.
hwloc_obj_t last_level_cache(hwloc_obj_t core) {
  hwloc_obj_t last = nullptr;
  for (hwloc_obj_t at = core; at != nullptr; at = at->parent) {
    if (hwloc_obj_type_is_dcache(at->type)) last = at;
  }
  return last;
}

struct BitmapDeleter {
  void operator()(hwloc_bitmap_s* bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, BitmapDeleter>;

std::vector<uint32_t> members(hwloc_const_bitmap_t bitmap) {
  std::vector<uint32_t> found;
  for (int i = hwloc_bitmap_first(bitmap); i >= 0; i = hwloc_bitmap_next(bitmap, i)) {
    found.push_back(static_cast<uint32_t>(i));
  }
  return found;
}

class MachineBuilder {
 public:
  explicit MachineBuilder(hwloc_topology_t topology) : topology_(topology) {}

  Machine build() && {
    add_nodes();
    add_cores();
    add_kinds();
    add_distances();
    machine_.allowed_pus = members(hwloc_topology_get_allowed_cpuset(topology_));
    hwloc_obj_t package = hwloc_get_obj_by_type(topology_, HWLOC_OBJ_PACKAGE, 0);
    for (hwloc_obj_t at : {package, hwloc_get_root_obj(topology_)}) {
      const char* name = at == nullptr ? nullptr : hwloc_obj_get_info_by_name(at, "CPUModel");
      if (name != nullptr && machine_.cpu_name.empty()) machine_.cpu_name = name;
    }
    return std::move(machine_);
  }

 private:
  uint32_t package_of(hwloc_obj_t at) {
    while (at != nullptr && at->type != HWLOC_OBJ_PACKAGE) at = at->parent;
    auto [entry, added] = packages_.emplace(at, static_cast<uint32_t>(machine_.packages.size()));
    if (added) machine_.packages.emplace_back();
    return entry->second;
  }

  void add_nodes() {
    hwloc_obj_t at = nullptr;
    while ((at = hwloc_get_next_obj_by_type(topology_, HWLOC_OBJ_NUMANODE, at)) != nullptr) {
      node_objects_.push_back(at);
    }
    std::sort(node_objects_.begin(), node_objects_.end(),
              [](hwloc_obj_t a, hwloc_obj_t b) { return a->os_index < b->os_index; });
    // Packages come in hwloc's order, whatever the nodes' numbers are.
    hwloc_obj_t package = nullptr;
    while ((package = hwloc_get_next_obj_by_type(topology_, HWLOC_OBJ_PACKAGE, package)) !=
           nullptr) {
      package_of(package);
    }
    hwloc_const_nodeset_t allowed = hwloc_topology_get_allowed_nodeset(topology_);
    for (hwloc_obj_t object : node_objects_) {
      NumaNode node;
      node.os_index = object->os_index;
      node.memory_bytes = object->attr->numanode.local_memory;
      node.memory_allowed = hwloc_bitmap_isset(allowed, object->os_index) != 0;
      node.package = package_of(object->parent);
      machine_.packages[node.package].nodes.push_back(static_cast<uint32_t>(machine_.nodes.size()));
      machine_.nodes.push_back(std::move(node));
    }
  }

  // Returns the nearest node around these CPUs: the one with the fewest CPUs, then with memory,
  // then the lowest.
  uint32_t node_of(hwloc_const_cpuset_t cpus) const {
    using Rank = std::tuple<bool, int, bool, uint32_t>;
    Rank best{true, 0, true, 0};
    bool found = false;
    for (uint32_t n = 0; n < node_objects_.size(); ++n) {
      hwloc_const_cpuset_t around = node_objects_[n]->cpuset;
      Rank rank{hwloc_bitmap_isincluded(cpus, around) == 0, hwloc_bitmap_weight(around),
                machine_.nodes[n].memory_bytes == 0, n};
      if (!found || rank < best) best = rank;
      found = true;
    }
    return std::get<3>(best);
  }

  void add_cores() {
    std::map<hwloc_obj_t, uint32_t> seen;
    hwloc_obj_t pu = nullptr;
    while ((pu = hwloc_get_next_obj_by_type(topology_, HWLOC_OBJ_PU, pu)) != nullptr) {
      hwloc_obj_t object = hwloc_get_ancestor_obj_by_type(topology_, HWLOC_OBJ_CORE, pu);
      if (object == nullptr) object = pu;
      auto [entry, added] = seen.emplace(object, static_cast<uint32_t>(machine_.cores.size()));
      if (added) add_core(object, entry->second);
      machine_.cores[entry->second].pus.push_back(pu->os_index);
    }
  }

  void add_core(hwloc_obj_t object, uint32_t index) {
    Core core;
    core.node = node_of(object->cpuset);
    core.package = package_of(object);
    core.llc = llc_of(object, core.node);
    machine_.nodes[core.node].cores.push_back(index);
    machine_.llcs[core.llc].cores.push_back(index);
    machine_.cores.push_back(std::move(core));
  }

  // A cache that spans several nodes counts once in each node. The cores of a node that have no
  // cache share one group.
  uint32_t llc_of(hwloc_obj_t core, uint32_t node) {
    hwloc_obj_t cache = last_level_cache(core);
    auto [entry, added] =
        llcs_.emplace(std::make_pair(cache, node), static_cast<uint32_t>(machine_.llcs.size()));
    if (added) {
      LlcGroup llc;
      llc.bytes = cache == nullptr ? 0 : cache->attr->cache.size;
      llc.node = node;
      machine_.nodes[node].llcs.push_back(entry->second);
      machine_.llcs.push_back(std::move(llc));
    }
    return entry->second;
  }

  void add_kinds() {
    int count = std::max(0, hwloc_cpukinds_get_nr(topology_, 0));
    // hwloc sorts kinds by rising efficiency rank if it knows the ranks. If not, all cores are of
    // one kind.
    Bitmap cpus(hwloc_bitmap_alloc());
    std::map<uint32_t, uint32_t> kind_of_pu;
    for (int i = 0; i < count; ++i) {
      int efficiency = -1;
      unsigned infos = 0;
      hwloc_info_s* info = nullptr;
      auto at = static_cast<unsigned>(i);
      if (hwloc_cpukinds_get_info(topology_, at, cpus.get(), &efficiency, &infos, &info, 0) != 0 ||
          efficiency < 0) {
        continue;
      }
      auto kind = static_cast<uint32_t>(machine_.kinds.size());
      machine_.kinds.emplace_back();
      for (unsigned j = 0; j < infos; ++j) {
        if (std::strcmp(info[j].name, "CoreType") == 0) machine_.kinds[kind].name = info[j].value;
      }
      for (uint32_t pu : members(cpus.get())) kind_of_pu[pu] = kind;
    }
    if (machine_.kinds.empty()) machine_.kinds.emplace_back();
    for (uint32_t c = 0; c < machine_.cores.size(); ++c) {
      Core& core = machine_.cores[c];
      auto entry = kind_of_pu.find(core.pus[0]);
      core.kind = entry == kind_of_pu.end() ? 0 : entry->second;
      machine_.kinds[core.kind].cores.push_back(c);
    }
  }

  void add_distances() {
    size_t count = machine_.nodes.size();
    machine_.distances.assign(count, std::vector<uint32_t>(count, 20));
    for (size_t n = 0; n < count; ++n) machine_.distances[n][n] = 10;
    unsigned matrices = 1;
    hwloc_distances_s* found = nullptr;
    if (hwloc_distances_get_by_type(topology_, HWLOC_OBJ_NUMANODE, &matrices, &found,
                                    HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) != 0 ||
        matrices == 0) {
      return;
    }
    auto index = [&](hwloc_obj_t object) {
      return static_cast<size_t>(std::find(node_objects_.begin(), node_objects_.end(), object) -
                                 node_objects_.begin());
    };
    for (unsigned i = 0; i < found->nbobjs; ++i) {
      for (unsigned j = 0; j < found->nbobjs; ++j) {
        size_t from = index(found->objs[i]), to = index(found->objs[j]);
        if (from == count || to == count) continue;
        machine_.distances[from][to] =
            static_cast<uint32_t>(found->values[size_t{i} * found->nbobjs + j]);
      }
    }
    machine_.distances_known = true;
    hwloc_distances_release(topology_, found);
  }

  hwloc_topology_t topology_;
  Machine machine_;
  std::vector<hwloc_obj_t> node_objects_;                      // by index in nodes
  std::map<hwloc_obj_t, uint32_t> packages_;                   // null: no package
  std::map<std::pair<hwloc_obj_t, uint32_t>, uint32_t> llcs_;  // by cache and node
};

// Throws `code`, saying that `what` cannot be used, for a topology without a PU or a node.
Machine build_machine(hwloc_topology_t topology, ErrorCode code, const std::string& what) {
  if (hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU) <= 0 ||
      hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE) <= 0) {
    fail(code, "{} has no CPU or no NUMA node", what);
  }
  return MachineBuilder(topology).build();
}

}  // namespace

Machine Machine::live() {
  Topology topology = init_topology();
  if (hwloc_topology_load(topology.get()) != 0) {
    fail(ErrorCode::kResource, "hwloc cannot read this computer's topology: {}",
         std::strerror(errno));
  }
  Machine machine = build_machine(topology.get(), ErrorCode::kResource, "this computer");
  machine.source = MachineSource::kLive;
  machine.description = "live";
  // HWLOC_XMLFILE and HWLOC_SYNTHETIC make hwloc describe another computer.
  if (hwloc_topology_is_thissystem(topology.get()) == 0) {
    machine.source = MachineSource::kDescribed;
    machine.description = "hwloc environment";
    return machine;
  }
  Bitmap bound(hwloc_bitmap_alloc());
  if (hwloc_get_cpubind(topology.get(), bound.get(), HWLOC_CPUBIND_PROCESS) == 0) {
    std::vector<uint32_t> usable;
    for (uint32_t pu : machine.allowed_pus) {
      if (hwloc_bitmap_isset(bound.get(), pu) != 0) usable.push_back(pu);
    }
    if (!usable.empty()) machine.allowed_pus = std::move(usable);
  }
  const std::filesystem::path root = "/";
  CgroupLimits limits = read_cgroup_limits(root);
  machine.cpu_quota = limits.cpu_quota;
  machine.memory_limit = limits.memory_limit;
  machine.memory_available = read_available_memory(root);
  if (limits.memory_left) {
    machine.memory_available = std::min(machine.memory_available, *limits.memory_left);
  }
  machine.thp = read_thp_mode(root);
  for (NumaNode& node : machine.nodes) read_node_memory(root, machine.nodes.size() == 1, &node);
  return machine;
}

Machine Machine::from_xml(const std::string& path) {
  Topology topology = init_topology();
  if (hwloc_topology_set_xml(topology.get(), path.c_str()) != 0 ||
      hwloc_topology_load(topology.get()) != 0) {
    fail(ErrorCode::kFile, "{} is not a readable hwloc XML file; lstopo writes one", path);
  }
  Machine machine = build_machine(topology.get(), ErrorCode::kFile, path);
  machine.source = MachineSource::kDescribed;
  machine.description = "xml " + path;
  return machine;
}

Machine Machine::from_synthetic(const std::string& description) {
  Topology topology = init_topology();
  if (hwloc_topology_set_synthetic(topology.get(), description.c_str()) != 0 ||
      hwloc_topology_load(topology.get()) != 0) {
    fail(ErrorCode::kUsage,
         "\"{}\" is not a synthetic hwloc description such as \"pack:2 numa:4 l3:1 core:16 pu:2\"",
         description);
  }
  Machine machine = build_machine(topology.get(), ErrorCode::kUsage, description);
  machine.source = MachineSource::kDescribed;
  machine.description = "synthetic " + description;
  return machine;
}

}  // namespace hearth
