// Measures what one machine can read and compute: how fast all threads of a node read the memory
// of each node (ArcLight, table 1), and what one thread can do alone.
//
// For every node with memory a buffer is bound there (Arena): 4 times the last-level caches of the
// node that reads, but at most half of the memory that is free (then is_short()). For every node
// with threads, one thread a core of it reads the whole buffer in 8 parts, MiB by MiB as they come
// free, with the loop of kernels/limits; the best part of several passes counts. Bytes and
// operations a second. On the first node some of its cores do the same (cost/contention.h).
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
  std::vector<uint32_t> threads;  // of each node, that measured; 0 for a node without
  // [threads' node][memory's node]; 0 where there are no threads or is no memory.
  std::vector<std::vector<double>> read;
  // The rates of one thread: reading its own node's memory, and operations by arithmetic unit. 0:
  // not known, or, where another unit is known, that the level lacks it.
  double core_read = 0;
  std::array<double, kArithmeticUnits> core_ops{};
  // The loss of threads of the first node beside each other; none: nobody measured it.
  std::optional<Contention> contention = {};
  uint64_t buffer_bytes = 0, wanted_bytes = 0;  // of the shortest buffer; 0: not measured

  // Too small for the caches: what was read may partly have come from there.
  bool is_short() const { return buffer_bytes < wanted_bytes; }
};

struct BandwidthOptions {
  uint32_t passes = 5;
  bool contention = true;            // what threads lose beside each other, too
  double contention_seconds = 15;    // that may take, but for what it cannot do without
  uint64_t most_bytes = UINT64_MAX;  // of a buffer; for tests
  // Called after every rate, of a pair of nodes or of a pattern, with how many of all are done.
  std::function<void(uint32_t done, uint32_t total)> report = [](uint32_t, uint32_t) {};
};

BandwidthTable measure_bandwidth(const Machine& machine, Isa isa,
                                 const BandwidthOptions& options = {});

// A guess for a machine that nobody measured: 100 GB/s a node, less to other nodes in proportion to
// 10 / distance. Ratios that follow from it say something, rates do not.
BandwidthTable assumed_bandwidth(const Machine& machine);

// Throws (kUsage) where the table is not one of this machine's nodes, or lacks a pair of them that
// the machine has threads and memory for.
void check_bandwidth(const BandwidthTable& table, const Machine& machine);

// Allowed cores of a node.
uint32_t node_core_count(const Machine& machine, uint32_t node);

}  // namespace hearth
