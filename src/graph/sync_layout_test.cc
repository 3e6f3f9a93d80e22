#include "graph/sync_layout.h"

#include <gtest/gtest.h>

#include <map>

#include "graph/builder.h"
#include "graph/test_memory.h"
#include "threads/barrier.h"

namespace hearth {
namespace {

// An op that claims from two counters a slot, and has three flags a slot.
class ClaimingOp : public Op {
 public:
  explicit ClaimingOp(const GroupShare& share) : slots_(share.shard_end - share.shard_begin) {}
  void run(ExecutionContext&, const OpSync&, const Worker&) const noexcept override {}
  uint32_t counters() const override { return 2 * slots_; }
  uint32_t flags() const override { return 3 * slots_; }

 private:
  uint32_t slots_;
};

// Makes a graph of nodes that all groups work on, and one that only group 0 works on.
Graph claiming_graph(const Plan& plan) {
  GraphBuilder builder(plan, kernels_for(Isa::kReference), 1);
  for (Mode mode : {Mode::kParallel, Mode::kReduce, Mode::kSerial, Mode::kParallel}) {
    std::vector<std::unique_ptr<Op>> ops;
    for (uint32_t g = 0; g < (mode == Mode::kSerial ? 1 : plan.group_count()); ++g) {
      ops.push_back(std::make_unique<ClaimingOp>(plan.groups[g].share));
    }
    builder.append(mode, "claim", std::move(ops));
  }
  return std::move(builder).finish();
}

// Returns plans whose groups are smaller than a node, as large as one, or larger; plans with uneven
// groups; and plans in lockstep.
std::vector<Plan> plans() {
  std::vector<Plan> all;
  for (auto [shards, groups, members] :
       {std::array{1u, 1u, 1u}, std::array{1u, 3u, 7u}, std::array{2u, 2u, 5u},
        std::array{4u, 2u, 8u}, std::array{4u, 1u, 4u}, std::array{2u, 4u, 9u}}) {
    all.push_back(even_plan(Phase::kDecode, 1, shards, groups, members));
    all.push_back(all.back());
    all.back().sync = GroupSync::kLockstep;
  }
  // Members that rest, and groups that do not follow one another.
  Plan scattered = even_plan(Phase::kDecode, 1, 2, 2, 8);
  scattered.groups[0].members = {2, 3, 5};
  scattered.groups[1].members = {1, 6};
  for (GroupSync sync : {GroupSync::kAsync, GroupSync::kLockstep}) {
    all.push_back(scattered);
    all.back().sync = sync;
  }
  return all;
}

// Checks that spots overlap with no other spot, and end within their shard's memory.
class Lines {
 public:
  explicit Lines(const SyncLayout& layout) : layout_(layout) {}

  void take(const SyncSpot& spot, size_t bytes) {
    ASSERT_LT(spot.shard, layout_.bytes.size());
    EXPECT_EQ(spot.offset % kLineSpacing, 0u);
    EXPECT_LE(spot.offset + bytes, layout_.bytes[spot.shard]);
    for (size_t at = spot.offset; at < spot.offset + bytes; at += kLineSpacing) {
      EXPECT_TRUE(taken_[spot.shard].emplace(at, true).second) << "a line of two";
    }
  }
  void expect_all_taken() {
    for (uint32_t s = 0; s < layout_.bytes.size(); ++s) {
      EXPECT_EQ(taken_[s].size() * kLineSpacing, layout_.bytes[s]);
    }
  }

 private:
  const SyncLayout& layout_;
  std::map<uint32_t, std::map<size_t, bool>> taken_;
};

TEST(SyncLayout, EveryoneWaitsOnLinesOfTheirOwnNode) {
  for (const Plan& plan : plans()) {
    SCOPED_TRACE(plan_text(plan));
    Graph graph = claiming_graph(plan);
    SyncLayout layout(graph);
    Lines lines(layout);
    uint32_t place = 0;
    for (const PlanGroup& group : plan.groups) {
      bool all = plan.sync == GroupSync::kLockstep;
      uint32_t size = all ? plan.worker_count() : group.size();
      for (uint32_t m : group.members) {
        EXPECT_EQ(layout.seats[place].shard, plan.member_shards[m]);
        lines.take(layout.seats[place], Barrier::seat_bytes(size));
        const SyncLayout::Station& station = layout.stations[layout.station_of_worker[place++]];
        EXPECT_EQ(&plan.groups[station.group], &group);
        for (const SyncSpot& flag : station.flags) EXPECT_EQ(flag.shard, plan.member_shards[m]);
      }
    }
    for (const SyncLayout::Station& station : layout.stations) {
      for (uint32_t from = 0; from < plan.group_count(); ++from) {
        if (from != station.group) lines.take(station.flags[from], sizeof(Flag));
      }
    }
    for (const SyncSpot& counter : layout.counters) lines.take(counter, kLineSpacing);
    for (const SyncSpot& flag : layout.flags) lines.take(flag, sizeof(Flag));
    lines.expect_all_taken();
  }
}

TEST(SyncLayout, AnOpsCountersAndFlagsLieOnTheShardsOfTheirSlots) {
  for (const Plan& plan : plans()) {
    Graph graph = claiming_graph(plan);
    SyncLayout layout(graph);
    for (const GraphNode& node : graph.nodes) {
      for (uint32_t g = 0; g < node.instances.size(); ++g) {
        const GroupShare& share = plan.groups[g].share;
        uint32_t slots = share.shard_end - share.shard_begin;
        for (uint32_t c = 0; c < 2 * slots; ++c) {
          EXPECT_EQ(layout.counters[node.op_sync[g].counter0 + c].shard,
                    share.shard_begin + c % slots);
        }
        for (uint32_t f = 0; f < 3 * slots; ++f) {
          EXPECT_EQ(layout.flags[node.op_sync[g].flag0 + f].shard, share.shard_begin + f % slots);
        }
      }
    }
  }
}

// The context uses the memory that it is given, and flags reach the members that the layout names.
TEST(SyncLayout, ContextStandsOnIt) {
  for (const Plan& plan : plans()) {
    Graph graph = claiming_graph(plan);
    TestMemory memory(graph);
    const ContextMemory& blocks = memory;
    ExecutionContext context(graph, memory, {});
    SyncLayout layout(graph);
    uint32_t groups = plan.group_count();
    for (uint32_t from = 0; from < groups; ++from) {
      std::map<const Flag*, int> posted;
      for (const Flag* flag : context.flags_posted(from)) ++posted[flag];
      std::map<const Flag*, int> expected, expected_serial;
      std::vector<uint32_t> members;  // by place
      for (const PlanGroup& group : plan.groups) {
        members.insert(members.end(), group.members.begin(), group.members.end());
      }
      for (uint32_t place = 0; place < plan.worker_count(); ++place) {
        const SyncLayout::Station& station = layout.stations[layout.station_of_worker[place]];
        if (station.group == from) continue;
        const Flag& flag = context.flag_from(from, place);
        const std::byte* base = blocks.sync[plan.member_shards[members[place]]];
        EXPECT_EQ(reinterpret_cast<const std::byte*>(&flag), base + station.flags[from].offset);
        expected[&flag] = 1;
        if (station.group == 0) expected_serial[&flag] = 1;
      }
      EXPECT_EQ(posted, expected);
      posted.clear();
      for (const Flag* flag : context.flags_posted_serial(from)) ++posted[flag];
      EXPECT_EQ(posted, expected_serial);
    }
  }
}

}  // namespace
}  // namespace hearth
