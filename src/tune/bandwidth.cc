#include "tune/bandwidth.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>

#include "base/error.h"
#include "kernels/kernels.h"
#include "memory/arena.h"
#include "threads/barrier.h"
#include "threads/chunk_counter.h"
#include "threads/team.h"
#include "topology/placement.h"

namespace hearth {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kUnknownCache = 32 * kMiB;
constexpr uint64_t kTimesCache = 4;
// A part is half the caches' size: by the time it is read again, three and a half times that much
// has passed through them. On a busy machine few stretches longer than that are undisturbed.
constexpr uint32_t kParts = 8;
constexpr double kAssumedBytesPerSecond = 100e9;
// Long against reading the clock, short against the time slices of a busy machine.
constexpr double kOpsSeconds = 2e-3;

using Clock = std::chrono::steady_clock;

double seconds(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

// All have it where a description tells of none.
bool has_memory(const Machine& machine, uint32_t node) { return machine.memory_node(node) == node; }

uint64_t caches_of(const Machine& machine, uint32_t node) {
  uint64_t bytes = 0;
  for (uint32_t llc : machine.nodes[node].llcs) {
    bytes += machine.llcs[llc].bytes > 0 ? machine.llcs[llc].bytes : kUnknownCache;
  }
  return bytes;
}

struct BufferSize {
  uint64_t wanted, bytes;  // whole MiB, at least one
};

// Of a buffer on `node` that the threads of any node may read.
BufferSize buffer_size(const Machine& machine, uint32_t node, uint64_t most) {
  uint64_t caches = 0;
  for (uint32_t n = 0; n < machine.nodes.size(); ++n) {
    caches = std::max(caches, caches_of(machine, n));
  }
  uint64_t wanted = (kTimesCache * caches + kMiB - 1) / kMiB * kMiB;
  if (machine.memory_available > 0) most = std::min(most, machine.memory_available / 2);
  uint64_t on_node = machine.nodes[node].available_bytes / 2;
  if (on_node > 0) most = std::min(most, on_node);
  return {wanted, std::max(std::min(wanted, most) / kMiB, uint64_t{1}) * kMiB};
}

// Threads that read a buffer together, again and again.
class Readers {
 public:
  explicit Readers(const Placement& placement)
      : team_(placement, {.pin_caller = true}),
        start_(team_.size()),
        turns_(std::make_unique<Turn[]>(team_.size())) {}

  uint32_t size() const { return team_.size(); }

  // Memory that was never written is one page of zeros, in the cache.
  void touch(std::byte* data, uint64_t bytes) {
    over_chunks(0, chunks_of(bytes),
                [&](Turn&, uint64_t at) noexcept { std::memset(data + at, 0x5a, kMiB); });
  }

  // Bytes a second of the best part of any pass.
  double best_rate(ReadFn loop, const std::byte* data, uint64_t bytes, uint32_t passes) {
    double best = 0;
    for (uint32_t step = 0; step < passes * kParts; ++step) {
      uint32_t part = step % kParts;
      auto begin = static_cast<uint32_t>(uint64_t{chunks_of(bytes)} * part / kParts);
      auto end = static_cast<uint32_t>(uint64_t{chunks_of(bytes)} * (part + 1) / kParts);
      if (begin == end) continue;
      double took = over_chunks(begin, end, [&](Turn& turn, uint64_t at) noexcept {
        turn.sink ^= loop(data + at, kMiB);
      });
      if (took > 0) best = std::max(best, static_cast<double>((end - begin) * kMiB) / took);
    }
    return best;
  }

 private:
  struct alignas(kLineSpacing) Turn {
    Clock::time_point begin, end;
    uint64_t sink = 0;  // what was read, so that reading has a use
  };

  static uint32_t chunks_of(uint64_t bytes) { return static_cast<uint32_t>(bytes / kMiB); }

  // Calls work(turn, offset) for chunks [begin, end). Seconds from the first member's start to the
  // last one's end.
  template <typename Work>
  double over_chunks(uint32_t begin, uint32_t end, const Work& work) {
    ++epoch_;
    uint32_t count = end - begin;
    team_.run([&](uint32_t member) noexcept {
      Turn& turn = turns_[member];
      // Waking up is not part of the work.
      start_.arrive_and_wait(member);
      turn.begin = Clock::now();
      for (uint32_t c; (c = next_.next(epoch_, count)) < count;) work(turn, (begin + c) * kMiB);
      turn.end = Clock::now();
    });
    Clock::time_point first = turns_[0].begin, last = turns_[0].end;
    for (uint32_t m = 1; m < team_.size(); ++m) {
      first = std::min(first, turns_[m].begin);
      last = std::max(last, turns_[m].end);
    }
    return seconds(first, last);
  }

  Team team_;
  Barrier start_;
  ChunkCounter next_;
  uint32_t epoch_ = 0;
  std::unique_ptr<Turn[]> turns_;  // by member
};

// Operations a second of the best pass of one thread; 0 where the level lacks the unit.
double core_ops(UnitFn loop, uint32_t passes) {
  if (loop(1) == 0) return 0;
  size_t rounds = 64;
  for (;; rounds *= 2) {
    Clock::time_point begin = Clock::now();
    loop(rounds);
    if (seconds(begin, Clock::now()) > kOpsSeconds) break;
  }
  double best = 0;
  for (uint32_t pass = 0; pass < passes; ++pass) {
    Clock::time_point begin = Clock::now();
    double done = loop(rounds);
    best = std::max(best, done / seconds(begin, Clock::now()));
  }
  return best;
}

// The seat of one thread alone on a node.
Placement one_seat(const Machine& machine, uint32_t node) {
  return place_threads(machine, {.threads = 1, .nodes = {node}});
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
  return static_cast<uint32_t>(std::count_if(cores.begin(), cores.end(), [&](uint32_t core) {
    const std::vector<uint32_t>& pus = machine.cores[core].pus;
    return std::any_of(pus.begin(), pus.end(), [&](uint32_t pu) { return machine.is_allowed(pu); });
  }));
}

BandwidthTable measure_bandwidth(const Machine& machine, Isa isa, const BandwidthOptions& options) {
  if (machine.source == MachineSource::kDescribed) {
    fail(ErrorCode::kUsage, "'{}' is only a description: bandwidth is measured on the machine",
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
  uint32_t done = 0;
  for (uint32_t memory : memories) {
    BufferSize size = buffer_size(machine, memory, options.most_bytes);
    if (table.buffer_bytes == 0 || size.bytes < table.buffer_bytes) {
      table.buffer_bytes = size.bytes;
      table.wanted_bytes = size.wanted;
    }
    Arena arena(machine, memory, size.bytes, "read buffer");
    std::byte* data = arena.allocate(size.bytes);
    // By its own threads, should binding have been refused.
    uint32_t owner = table.threads[memory] > 0 ? memory : readers.front();
    Readers(place_threads(machine, {.nodes = {owner}})).touch(data, size.bytes);
    for (uint32_t node : readers) {
      Readers team(place_threads(machine, {.nodes = {node}}));
      table.threads[node] = team.size();
      table.read[node][memory] = team.best_rate(loops.read, data, size.bytes, options.passes);
      options.report(++done, total);
    }
    if (table.core_read == 0 && owner == memory) {
      Readers alone(one_seat(machine, memory));
      table.core_read = alone.best_rate(loops.read, data, size.bytes, options.passes);
      for (size_t u = 0; u < kUnits; ++u) {
        table.core_ops[u] = core_ops(loops.unit[u], options.passes);
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
         "the bandwidth table is of {} nodes of '{}', the machine has {} others: measure it there "
         "with 'hearth topo --bandwidth -o FILE'",
         table.nodes.size(), table.machine, nodes.size());
  }
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    for (uint32_t j = 0; j < nodes.size(); ++j) {
      if (node_core_count(machine, i) == 0 || !has_memory(machine, j)) continue;
      if (table.read[i][j] > 0) continue;
      fail(ErrorCode::kUsage,
           "the bandwidth table lacks how fast node {} reads the memory of node {}", nodes[i],
           nodes[j]);
    }
  }
}

}  // namespace hearth
