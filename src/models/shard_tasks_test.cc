#include "models/shard_tasks.h"

#include <gtest/gtest.h>

#include <mutex>

namespace hearth {
namespace {

TEST(ShardTasks, EveryTaskOnceByWhoStandsOnItsShard) {
  Team team(3);
  std::vector<uint32_t> member_shards = {0, 2, 2};
  std::vector<size_t> counts = {5, 4, 60, 0};
  std::mutex mutex;
  std::vector<std::vector<uint32_t>> done;
  for (size_t count : counts) done.emplace_back(count, 0u);
  bool strayed = false;
  run_shard_tasks(team, member_shards, counts, [&](uint32_t member, size_t s, size_t t) noexcept {
    std::lock_guard lock(mutex);
    ++done[s][t];
    bool inhabited = s == 0 || s == 2;
    strayed = strayed || (inhabited && member_shards[member] != s);
  });
  for (size_t s = 0; s < counts.size(); ++s) {
    EXPECT_EQ(done[s], std::vector<uint32_t>(counts[s], 1)) << s;
  }
  EXPECT_FALSE(strayed);
}

}  // namespace
}  // namespace hearth
