#include "cost/bandwidth.h"

#include <algorithm>
#include <numeric>

#include "base/clock.h"
#include "base/error.h"
#include "cost/read_buffer.h"
#include "cost/timed_team.h"
#include "kernels/kernels.h"
#include "topology/placement.h"

namespace hearth {
namespace {

constexpr double kAssumedBytesPerSecond = 100e9;
constexpr double kOpsSeconds = 2e-3;

// Whether the node has memory. If the machine's description tells no node's memory, every node
// counts as having some.
bool has_memory(const Machine& machine, uint32_t node) { return machine.memory_node(node) == node; }

uint64_t caches_of(const Machine& machine, uint32_t node) {
  uint64_t bytes = 0;
  for (uint32_t llc : machine.nodes[node].llcs) bytes += cache_bytes(machine, llc);
  return bytes;
}

struct BufferSize {
  uint64_t wanted, bytes;  // whole MiB, at least one
};

// Returns the size of a buffer on `node` that the threads of any node can read.
BufferSize buffer_size(const Machine& machine, uint32_t node, uint64_t most) {
  uint64_t caches = 0;
  for (uint32_t n = 0; n < machine.nodes.size(); ++n) {
    caches = std::max(caches, caches_of(machine, n));
  }
  uint64_t wanted = rounded_up(kTimesCache * caches);
  if (machine.memory_available > 0) most = std::min(most, machine.memory_available / 2);
  return {wanted, bytes_to_have(machine, node, std::min(wanted, most))};
}

// Returns a number of rounds that takes long compared with reading the clock, but not with the time
// slices of a busy machine.
size_t rounds_for(UnitFn loop) {
  for (size_t rounds = 64;; rounds *= 2) {
    double begin = steady_seconds();
    loop(rounds);
    if (steady_seconds() - begin > kOpsSeconds) return rounds;
  }
}

// Threads that together read buffers and compute, in passes.
class Readers {
 public:
  explicit Readers(const Placement& placement)
      : team_(placement, {.pin_caller = true}), timed_(team_) {}

  uint32_t size() const { return team_.size(); }

  void write(ReadBuffer& buffer) {
    for (uint32_t part = 0; part < kReadParts; ++part) {
      buffer.begin(part);
      timed_.together([&](uint32_t, uint32_t) noexcept { buffer.write(); });
    }
  }

  // Returns the bytes a second of the fastest part in all passes.
  double best_rate(ReadFn loop, ReadBuffer& buffer, uint32_t passes) {
    double best = 0;
    for (uint32_t step = 0; step < passes * kReadParts; ++step) {
      auto bytes = static_cast<double>(buffer.begin(step % kReadParts));
      if (bytes == 0) continue;
      double took = timed_.together(
          [&](uint32_t member, uint32_t) noexcept { buffer.read(loop, &timed_.sink(member)); });
      if (took > 0) best = std::max(best, bytes / took);
    }
    return best;
  }

  // Returns the operations a second of all threads together, in the fastest pass.
  double ops_rate(UnitFn loop, size_t rounds, uint32_t passes) {
    double best = 0;
    std::vector<double> done(size());
    for (uint32_t pass = 0; pass < passes; ++pass) {
      double took =
          timed_.together([&](uint32_t member, uint32_t) noexcept { done[member] = loop(rounds); });
      if (took > 0) best = std::max(best, std::accumulate(done.begin(), done.end(), 0.0) / took);
    }
    return best;
  }

 private:
  Team team_;
  TimedTeam timed_;
};

// Returns the operations a second of one thread in the fastest pass; 0 where the level lacks the
// unit.
double core_ops(UnitFn loop, uint32_t passes) {
  if (loop(1) == 0) return 0;
  const size_t rounds = rounds_for(loop);
  double best = 0;
  for (uint32_t pass = 0; pass < passes; ++pass) {
    double begin = steady_seconds();
    double done = loop(rounds);
    best = std::max(best, done / (steady_seconds() - begin));
  }
  return best;
}

// Returns the placement of a single thread on a node.
Placement one_seat(const Machine& machine, uint32_t node) {
  return place_threads(machine, {.threads = 1, .nodes = {node}});
}

// Returns the loop of the arithmetic unit that computes prompts: int8 dot, or f32 fma where the
// level lacks that.
UnitFn dot_unit(const LimitLoops& loops) {
  UnitFn dots = loops.unit[static_cast<size_t>(ArithmeticUnit::kInt8Dot)];
  return dots(1) > 0 ? dots : loops.unit[static_cast<size_t>(ArithmeticUnit::kF32Fma)];
}

// Measures the contention of the cores of a node in about `seconds` seconds. Calls `report`
// contention_patterns() times.
Contention contention_of(const Machine& machine, uint32_t node, const LimitLoops& loops,
                         ReadBuffer& buffer, double seconds, const std::function<void()>& report) {
  constexpr uint32_t kReadPasses = 1, kOpsPasses = 40;
  const double until = steady_seconds() + seconds;
  auto team_on = [&](const std::vector<uint32_t>& pus) {
    const auto threads = static_cast<uint32_t>(pus.size());
    return Readers(place_threads(machine, {.threads = threads, .nodes = {node}, .pus = pus}));
  };
  const UnitFn dots = dot_unit(loops);
  const size_t rounds = rounds_for(dots);
  Contention found =
      measure_contention(machine, node,
                         {[&](const std::vector<uint32_t>& pus) {
                            return team_on(pus).best_rate(loops.read, buffer, kReadPasses);
                          },
                          [&](const std::vector<uint32_t>& pus) {
                            return team_on(pus).ops_rate(dots, rounds, kOpsPasses);
                          },
                          [&] { return steady_seconds() > until; }, report});
  if (!found.whole) found.seconds = seconds;
  return found;
}

BandwidthTable empty_table(const Machine& machine) {
  BandwidthTable table;
  table.machine = machine.description;
  table.cpu = machine.cpu_name;
  auto count = static_cast<uint32_t>(machine.nodes.size());
  table.read.assign(count, std::vector<double>(count, 0));
  for (uint32_t n = 0; n < count; ++n) {
    table.nodes.push_back(machine.nodes[n].os_index);
    table.threads.push_back(node_core_count(machine, n));
  }
  return table;
}

}  // namespace

uint32_t node_core_count(const Machine& machine, uint32_t node) {
  const std::vector<uint32_t>& cores = machine.nodes[node].cores;
  return static_cast<uint32_t>(std::count_if(
      cores.begin(), cores.end(), [&](uint32_t core) { return machine.core_allowed(core); }));
}

BandwidthTable measure_bandwidth(const Machine& machine, Isa isa, const BandwidthOptions& options) {
  if (machine.source == MachineSource::kDescribed) {
    fail(ErrorCode::kUsage,
         "'{}' is only a description of a machine: measure bandwidth on the machine itself",
         machine.description);
  }
  const LimitLoops& loops = kernels_for(isa).limits;
  BandwidthTable table = empty_table(machine);
  std::vector<uint32_t> readers, memories;
  for (uint32_t n = 0; n < machine.nodes.size(); ++n) {
    if (table.threads[n] > 0) readers.push_back(n);
    if (has_memory(machine, n)) memories.push_back(n);
  }
  auto total = static_cast<uint32_t>(readers.size() * memories.size());
  // Contention is measured only on the first node that has both threads and memory, and stands for
  // all nodes.
  const auto whole =
      std::ranges::find_if(memories, [&](uint32_t n) { return table.threads[n] > 0; });
  if (options.contention && whole != memories.end()) total += contention_patterns(machine, *whole);
  uint32_t done = 0;
  auto report = [&] { options.report(++done, total); };
  for (uint32_t memory : memories) {
    BufferSize size = buffer_size(machine, memory, options.max_bytes);
    if (table.buffer_bytes == 0 || size.bytes < table.buffer_bytes) {
      table.buffer_bytes = size.bytes;
      table.wanted_bytes = size.wanted;
    }
    ReadBuffer buffer(machine, memory, size.bytes);
    // Threads of the node itself write the memory first, so that it lies there even if it could not
    // be bound.
    uint32_t owner = table.threads[memory] > 0 ? memory : readers.front();
    Readers(place_threads(machine, {.nodes = {owner}})).write(buffer);
    for (uint32_t node : readers) {
      Readers team(place_threads(machine, {.nodes = {node}}));
      table.threads[node] = team.size();
      table.read[node][memory] = team.best_rate(loops.read, buffer, options.passes);
      report();
    }
    if (whole != memories.end() && memory == *whole) {
      Readers alone(one_seat(machine, memory));
      table.core_read = alone.best_rate(loops.read, buffer, options.passes);
      for (size_t u = 0; u < kArithmeticUnits; ++u) {
        table.core_ops[u] = core_ops(loops.unit[u], options.passes);
      }
      if (options.contention) {
        table.contention =
            contention_of(machine, memory, loops, buffer, options.contention_seconds, report);
      }
    }
  }
  return table;
}

BandwidthTable assumed_bandwidth(const Machine& machine) {
  BandwidthTable table = empty_table(machine);
  for (uint32_t i = 0; i < machine.nodes.size(); ++i) {
    for (uint32_t j = 0; j < machine.nodes.size(); ++j) {
      if (table.threads[i] == 0 || !has_memory(machine, j)) continue;
      double distance = std::max(10u, machine.distances[i][j]);
      table.read[i][j] = kAssumedBytesPerSecond * 10 / distance;
    }
  }
  return table;
}

void check_bandwidth(const BandwidthTable& table, const Machine& machine) {
  std::vector<uint32_t> nodes;
  for (const NumaNode& node : machine.nodes) nodes.push_back(node.os_index);
  if (table.nodes != nodes) {
    fail(ErrorCode::kUsage,
         "the bandwidth table has {} nodes of '{}', which are not the {} nodes of this machine: "
         "measure it there with 'hearth topo --bandwidth -o FILE'",
         table.nodes.size(), table.machine, nodes.size());
  }
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    for (uint32_t j = 0; j < nodes.size(); ++j) {
      if (node_core_count(machine, i) == 0 || !has_memory(machine, j)) continue;
      if (table.read[i][j] > 0) continue;
      fail(ErrorCode::kUsage,
           "the bandwidth table has no value for node {} reading the memory of node {}: measure it "
           "again",
           nodes[i], nodes[j]);
    }
  }
}

}  // namespace hearth
