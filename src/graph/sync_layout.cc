#include "graph/sync_layout.h"

#include "threads/barrier.h"
#include "threads/chunk_counter.h"

namespace hearth {

SyncLayout::SyncLayout(const Graph& graph) : bytes(graph.plan.shard_count(), 0) {
  place_seats(graph.plan);
  place_stations(graph.plan);
  place_op_sync(graph);
}

SyncSpot SyncLayout::place(uint32_t shard, size_t size) {
  static_assert(sizeof(Flag) == kLineSpacing && sizeof(ChunkCounter) == kLineSpacing);
  SyncSpot spot{shard, bytes[shard]};
  bytes[shard] += size;
  return spot;
}

void SyncLayout::place_seats(const Plan& plan) {
  for (const PlanGroup& group : plan.groups) {
    bool lockstep = plan.sync == GroupSync::kLockstep;
    uint32_t size = lockstep ? plan.worker_count() : group.size();
    for (uint32_t m : group.members) {
      seats.push_back(place(plan.member_shards[m], Barrier::seat_bytes(size)));
    }
  }
}

void SyncLayout::place_stations(const Plan& plan) {
  for (uint32_t g = 0; g < plan.group_count(); ++g) {
    size_t first = stations.size();
    for (uint32_t m : plan.groups[g].members) {
      uint32_t shard = plan.member_shards[m];
      size_t station = first;
      while (station < stations.size() && stations[station].shard != shard) ++station;
      if (station == stations.size()) {
        stations.push_back({g, shard, std::vector<SyncSpot>(plan.group_count(), {shard, 0})});
        for (uint32_t from = 0; from < plan.group_count(); ++from) {
          if (from != g) stations[station].flags[from] = place(shard, sizeof(Flag));
        }
      }
      station_of_worker.push_back(static_cast<uint32_t>(station));
    }
  }
}

void SyncLayout::place_op_sync(const Graph& graph) {
  counters.resize(graph.counter_count);
  flags.resize(graph.flag_count);
  for (const GraphNode& node : graph.nodes) {
    for (uint32_t i = 0; i < node.instances.size(); ++i) {
      // A node of one instance belongs to group 0.
      const GroupShare& share = graph.plan.groups[i].share;
      auto shard = [&](uint32_t index) {
        return share.shard_begin + index % (share.shard_end - share.shard_begin);
      };
      const OpSync& sync = node.op_sync[i];
      for (uint32_t c = 0; c < node.instances[i]->counters(); ++c) {
        counters[sync.counter0 + c] = place(shard(c), sizeof(ChunkCounter));
      }
      for (uint32_t f = 0; f < node.instances[i]->flags(); ++f) {
        flags[sync.flag0 + f] = place(shard(f), sizeof(Flag));
      }
    }
  }
}

}  // namespace hearth
