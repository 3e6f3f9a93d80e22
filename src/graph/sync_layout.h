// SyncLayout says where the flags, counters and seats lie that the threads of a run wait on or
// claim from. They lie on the node of the threads that wait on them or claim from them, so threads
// spin only on lines of their own node. Memory of shard s is on the node of shard s; the plan says
// which shard a member stands on.
//
//   a worker's seat in its barrier        its own shard
//   the flag by which group a tells b     every shard that a member of b stands on has one
//   chunk counter i of an op of group g   shard i modulo n of the n shards of g's share
//   flag i of an op of group g            the same shard
//
// Each of them lies on lines of its own (kLineSpacing), so no two share a line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace hearth {

// A place in a shard's memory.
struct SyncSpot {
  uint32_t shard;
  size_t offset;
};

struct SyncLayout {
  explicit SyncLayout(const Graph& graph);

  // The members of a group on one shard, which wait on one flag from each other group.
  struct Station {
    uint32_t group, shard;
    std::vector<SyncSpot> flags;  // by the group that posts; its own entry is not used
  };

  std::vector<size_t> bytes;                // by shard, a multiple of kLineSpacing
  std::vector<SyncSpot> seats;              // by Worker::place
  std::vector<Station> stations;            // in the order of groups
  std::vector<uint32_t> station_of_worker;  // by Worker::place
  std::vector<SyncSpot> counters;           // by counter
  std::vector<SyncSpot> flags;              // by flag of an op

 private:
  SyncSpot place(uint32_t shard, size_t size);
  void place_seats(const Plan& plan);
  void place_stations(const Plan& plan);
  void place_op_sync(const Graph& graph);
};

}  // namespace hearth
