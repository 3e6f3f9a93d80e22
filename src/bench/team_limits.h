// Measures the limits of a team of threads on this machine: the most bytes read and operations done
// a second. The team that does the work measures them, between the measurements of that work. A
// machine's limits change with its clock, its neighbours and its host. So they are sampled again
// and again, and the best sample is the limit.
//
// Reading uses a buffer on every node that has members, in pages as large as weights get (Arena).
// It has at least 4 times the last-level caches that the node's members sit on, but at most a part
// of the free memory (then is_short()). Every member claims chunks of its own node's buffer.
// Operations: every member claims rounds of the loops of kernels/limits.
//
// A sample is taken in parts of a few milliseconds. Its rate is that of all parts together. The
// best is that of a single part, since a busy machine is seldom undisturbed for longer.
// Throws kResource where the buffer cannot be had. Used by the thread that is member 0 of the team.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "cost/read_buffer.h"
#include "cost/timed_team.h"
#include "kernels/limits/limits.h"
#include "threads/chunk_counter.h"
#include "threads/team.h"
#include "topology/cpu_features.h"
#include "topology/machine.h"
#include "topology/placement.h"

namespace hearth {

// The names that reports give to the rates of LimitSample::ops, in 1e9 operations a second.
inline constexpr const char* kUnitKeys[kArithmeticUnits] = {"f32_fma_gops", "bf16_dot_gops",
                                                            "int8_dot_gops", "int16_dot_gops"};

struct LimitSample {
  double read = 0;  // bytes a second
  std::array<double, kArithmeticUnits>
      ops{};  // operations a second by arithmetic unit; 0: the level lacks it
};

// The limits of one ISA level.
struct LevelLimits {
  Isa isa;
  LimitSample best;
  std::vector<LimitSample> samples;
};

// The buffer that was read over.
struct ReadBufferInfo {
  uint64_t bytes = 0, wanted = 0;
  uint64_t huge_bytes = 0;  // the part of `bytes` in huge pages
  // Returns whether the buffer is too small for the caches, so that reads may partly come from
  // them.
  bool is_short() const { return bytes < wanted; }
};

// The buffer of one node, in the order of Placement::by_node(). `wanted` is 4 times the last-level
// caches under the node's seats; a cache of unknown size counts as 32 MiB.
struct NodeBytes {
  uint32_t node = 0;
  uint64_t wanted = 0, bytes = 0;
  bool operator==(const NodeBytes&) const = default;
};
// Plans the buffers. `bytes` is `wanted`, but at most half of the free memory of `machine` and of
// the node. It is a whole number of MiB, at least one.
std::vector<NodeBytes> plan_read_buffers(const Machine& machine, const Placement& placement);

class TeamLimits {
 public:
  // `placement` is the team's; `machine` tells what memory is free now.
  TeamLimits(Team& team, const Machine& machine, const Placement& placement,
             const std::vector<Isa>& isas);

  // Takes one sample of every level.
  void sample();

  const std::vector<LevelLimits>& levels() const { return levels_; }
  const ReadBufferInfo& buffer() const { return buffer_; }

 private:
  // Makes `part` the part of all buffers that is read or written next; returns its bytes.
  uint64_t begin_part(uint32_t part);
  void touch();
  // Return bytes or operations a second over all parts. `best` is raised to the best part's rate.
  double read_rate(ReadFn read, double* best);
  double ops_rate(UnitFn loop, size_t rounds, double* best);

  TimedTeam team_;
  std::vector<uint32_t> member_buffers_;
  std::vector<std::unique_ptr<ReadBuffer>> buffers_;
  ReadBufferInfo buffer_;
  ChunkCounter next_;                                         // counts the claims of rounds
  std::vector<std::array<size_t, kArithmeticUnits>> rounds_;  // rounds a chunk, by level and unit
  std::vector<LevelLimits> levels_;
};

}  // namespace hearth
