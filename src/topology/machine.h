// A Machine holds all that this program knows of the computer, as plain data: packages > NUMA nodes
// > LLC groups > cores > PUs (processing units, which are hardware threads), distances, memory, and
// the limits of cgroup and affinity. It is read from the computer itself, from an hwloc XML file or
// from an hwloc synthetic description, or it is invented.
//
// Containers refer to each other by index. Any shape is represented: nodes without cores (memory
// expanders), nodes without memory, nodes of unequal size, cores of unequal kind.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hearth {

// How a Machine was made decides what may be done on it.
enum class MachineSource {
  kLive,       // this computer: threads are pinned, memory is bound
  kDescribed,  // XML or synthetic: a plan can be made, not run
  kInvented,   // invented nodes over this computer's PUs: threads run, memory is not bound
};

struct Core {
  uint32_t package = 0, node = 0, llc = 0;  // indices into Machine
  uint32_t kind = 0;                        // index into Machine::kinds
  std::vector<uint32_t> pus;                // operating system numbers, first hyper-thread first
};

// The cores of one efficiency class. Machine::kinds is sorted: the fastest kind is the last.
struct CoreKind {
  std::string name;  // hwloc's CoreType such as "IntelAtom"; empty where unknown
  std::vector<uint32_t> cores;
};

// The cores that share a last-level cache.
struct LlcGroup {
  uint64_t bytes = 0;  // 0 where unknown
  uint32_t node = 0;
  std::vector<uint32_t> cores;
};

struct NumaNode {
  uint32_t os_index = 0;
  uint32_t package = 0;
  uint64_t memory_bytes = 0;
  uint64_t available_bytes = 0;       // live only: free, or held by page cache that can be dropped
  uint64_t free_2m = 0, free_1g = 0;  // live only: free explicit huge pages, in pages
  bool memory_allowed = true;         // cpuset.mems has it
  std::vector<uint32_t> cores;        // empty for a node of memory only
  std::vector<uint32_t> llcs;
};

struct Package {
  std::vector<uint32_t> nodes;
};

// The value of /sys/kernel/mm/transparent_hugepage/enabled.
enum class ThpMode { kUnavailable, kNever, kMadvise, kAlways };
const char* thp_mode_name(ThpMode mode);

struct Machine {
  MachineSource source = MachineSource::kLive;
  std::string description;  // "live", "xml FILE", "synthetic ...", "invented 4 nodes x 2"
  std::string cpu_name;     // "AMD EPYC 7H12 64-Core Processor"; empty where unknown

  std::vector<Package> packages;
  std::vector<NumaNode> nodes;
  std::vector<LlcGroup> llcs;
  std::vector<Core> cores;
  std::vector<CoreKind> kinds;

  // distances[from][to] as the firmware gives them (SLIT): 10 is local. Without a SLIT they are 10
  // and 20.
  std::vector<std::vector<uint32_t>> distances;
  bool distances_known = false;

  // The PUs that this process may use (affinity and cpuset), rising.
  std::vector<uint32_t> allowed_pus;
  // The CPU time that this process may use, in cores; none if unlimited.
  std::optional<double> cpu_quota;
  // The tightest cgroup memory limit; none if unlimited.
  std::optional<uint64_t> memory_limit;
  // The bytes that can be allocated now: MemAvailable, or a cgroup's remaining bytes if those are
  // fewer. 0 if unknown.
  uint64_t memory_available = 0;
  ThpMode thp = ThpMode::kUnavailable;

  // Describes this computer. Throws kResource if hwloc cannot read it.
  static Machine live();
  // Reads a file saved by lstopo or hwloc. Throws kFile.
  static Machine from_xml(const std::string& path);
  // Takes hwloc's synthetic description, such as "pack:2 numa:4 l3:1 core:16 pu:2". Throws kUsage.
  static Machine from_synthetic(const std::string& description);
  // Invents `nodes` nodes of `cores_per_node` single-threaded cores, whose PUs are this computer's
  // allowed ones in turn, so several cores may share a PU. Throws kUsage if either is 0.
  static Machine invented(uint32_t nodes, uint32_t cores_per_node);

  bool is_allowed(uint32_t pu) const;
  // Returns the index of the node to which the operating system gives that number, or none.
  std::optional<uint32_t> node_numbered(uint32_t os_index) const;
  // Returns whether binding memory to nodes is possible here and makes a difference.
  bool binds_memory() const { return source == MachineSource::kLive && nodes.size() > 1; }
  // Returns the node nearest to `node` (itself, if possible) that has memory this process may use;
  // ties go to the lower index. Returns `node` if no node has such memory.
  uint32_t memory_node(uint32_t node) const;
  // core_allowed(): whether the core has an allowed PU. allowed_core_count(): how many cores have
  // one.
  bool core_allowed(uint32_t core) const;
  uint32_t allowed_core_count() const;
};

}  // namespace hearth
