// Runs tasks that each belong to a shard on the members that stand on that shard. Tasks of a shard
// without members run on all. Loading deals a file's bytes out this way.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "threads/team.h"

namespace hearth {

// The approximate number of bytes of the file that a task covers. Claiming a task must cost little
// beside it, and all threads must end at about the same time.
inline constexpr size_t kShardTaskBytes = size_t{1} << 20;

// Calls work(member, shard, task) once for every task in [0, counts[shard]) of every shard.
// `member_shards` gives each member's shard. Work must not throw.
template <typename Work>
void run_shard_tasks(Team& team, const std::vector<uint32_t>& member_shards,
                     const std::vector<size_t>& counts, const Work& work) {
  std::vector<std::atomic<size_t>> next(counts.size());
  std::vector<bool> inhabited(counts.size(), false);
  for (uint32_t s : member_shards) inhabited[s] = true;
  team.run([&](uint32_t member) noexcept {
    for (size_t s = 0; s < counts.size(); ++s) {
      bool mine = member < member_shards.size() && member_shards[member] == s;
      if (!mine && inhabited[s]) continue;
      for (size_t t; (t = next[s].fetch_add(1, std::memory_order_relaxed)) < counts[s];) {
        work(member, s, t);
      }
    }
  });
}

}  // namespace hearth
