// Measures what this machine can read and compute: how fast all threads of a node read the memory
// of each node (ArcLight, table 1), and how fast one thread reads and computes while the others
// rest.
//
// A buffer is bound to each node with memory (Arena). It has 4 times the size of the last-level
// caches of the node that reads, but at most half of the free memory (is_short() is then true). The
// threads of each node, one a core, read the whole buffer in 8 parts. Each thread takes the next
// free MiB in turn, and reads it with the loop of kernels/limits. The fastest part of several
// passes counts. Rates are bytes and operations a second. On the first node, some of its cores also
// do the same together (cost/contention.h).
//
// Errors: a machine that is only described cannot be measured (kUsage); memory for the buffer is
// short (kResource).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cost/contention.h"
#include "kernels/limits/limits.h"
#include "topology/cpu_features.h"
#include "topology/machine.h"

namespace hearth {

struct BandwidthTable {
  std::string machine, cpu;       // Machine::description and cpu_name
  std::vector<uint32_t> nodes;    // operating system numbers, in the order of Machine::nodes
  std::vector<uint32_t> threads;  // [node]: how many measured; 0: it has none
  // [threads' node][memory's node]; 0 where the one has no threads or the other has no memory.
  std::vector<std::vector<double>> read;
  // The rates of one thread: bytes of its own node's memory, and operations by arithmetic unit. A
  // unit with 0 is not known. If other units are known, it is missing at this ISA level.
  double core_read = 0;
  std::array<double, kArithmeticUnits> core_ops{};
  // The losses of the first node's threads when they work at the same time, if they were measured.
  std::optional<Contention> contention = {};
  uint64_t buffer_bytes = 0, wanted_bytes = 0;  // of the shortest buffer; 0: not measured

  // Whether the buffer was too small for the caches, so that some reads may have come from there.
  bool is_short() const { return buffer_bytes < wanted_bytes; }
};

struct BandwidthOptions {
  uint32_t passes = 5;
  bool contention = true;           // whether to measure Contention, too
  double contention_seconds = 15;   // the most for patterns that may be left out
  uint64_t max_bytes = UINT64_MAX;  // the longest buffer, for tests
  // Called after each rate that was measured (of a pair of nodes or of a pattern): `done` of
  // `total` are known.
  std::function<void(uint32_t done, uint32_t total)> report = [](uint32_t, uint32_t) {};
};

BandwidthTable measure_bandwidth(const Machine& machine, Isa isa,
                                 const BandwidthOptions& options = {});

// Returns a guess for a machine that was never measured: each node reads its own memory at 100
// GB/s, and that of another node at 10 / distance times as much. The guess serves to compare plans,
// not to predict rates.
BandwidthTable assumed_bandwidth(const Machine& machine);

// Throws (kUsage) if the table is of other nodes than this machine's, or lacks the rate at which a
// node with threads reads a node with memory.
void check_bandwidth(const BandwidthTable& table, const Machine& machine);

// Returns the number of a node's cores that the process may use.
uint32_t node_core_count(const Machine& machine, uint32_t node);

}  // namespace hearth
