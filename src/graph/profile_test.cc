// Tests that a profile's times belong to the right member, node and cause, and add up. No test
// depends on how long something takes: a sleep or the order of events guarantees every bound.
#include "graph/profile.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "graph/builder.h"
#include "graph/executor.h"
#include "graph/test_memory.h"
#include "graph/test_sync_counts.h"

namespace hearth {
namespace {

constexpr std::chrono::milliseconds kNap{2};
constexpr int64_t kNapNs = std::chrono::nanoseconds(kNap).count();

TEST(ProfileLaps, EachLapLiesWhereItWasNoted) {
  std::vector<ProfileRecord> records(3);
  ProfileLaps laps(records.data());
  std::this_thread::sleep_for(kNap);
  laps.met(0);
  EXPECT_GE(records[0].meet, kNapNs);
  std::this_thread::sleep_for(2 * kNap);
  laps.worked(1);
  EXPECT_GE(records[1].work, 2 * kNapNs);
  EXPECT_EQ(records[1].calls, 1u);
  std::this_thread::sleep_for(kNap);
  laps.waited(2);
  EXPECT_GE(records[2].barrier, kNapNs);
  EXPECT_EQ(records[0].work + records[0].barrier + records[1].meet + records[1].barrier +
                records[2].meet + records[2].work,
            0);
  EXPECT_EQ(records[0].calls + records[2].calls, 0u);
}

// An op that does nothing. With a counter of arrivals, it lets member 0 of the plan nap once all
// members have arrived.
class NapOp : public Op {
 public:
  NapOp(uint32_t group, std::atomic<uint32_t>* arrived) : group_(group), arrived_(arrived) {}

  void run(ExecutionContext& context, const OpSync&, const Worker& worker) const noexcept override {
    if (!arrived_) return;
    uint32_t all = context.graph().plan.worker_count();
    uint32_t round = arrived_->fetch_add(1) / all;
    if (worker.group != 0 || worker.index != 0) return;
    while (arrived_->load() < (round + 1) * all) std::this_thread::yield();
    std::this_thread::sleep_for(kNap);
  }
  OpLoad load(const StepSizes& step) const override {
    OpLoad load;
    load.of_shard(0).weights = 90 + group_;
    load.of_shard(1).kv = 10;
    load.of(ArithmeticUnit::kBf16Dot) = step.rows;
    return load;
  }

 private:
  uint32_t group_;
  std::atomic<uint32_t>* arrived_;
};

// Makes a graph with nodes of all modes; member 0 naps in "slow".
Graph nap_graph(const Plan& plan, std::atomic<uint32_t>* arrived) {
  GraphBuilder builder(plan, kernels_for(Isa::kReference), 1);
  auto append = [&](Mode mode, const char* name, std::atomic<uint32_t>* counter = nullptr) {
    bool one = mode == Mode::kSerial || mode == Mode::kGather;
    std::vector<std::unique_ptr<Op>> ops;
    for (uint32_t g = 0; g < (one ? 1 : plan.group_count()); ++g) {
      ops.push_back(std::make_unique<NapOp>(g, counter));
    }
    builder.append(mode, name, std::move(ops));
  };
  append(Mode::kParallel, "twice");
  builder.set_layer(0);
  append(Mode::kParallel, "slow", arrived);
  append(Mode::kReduce, "reduce");
  append(Mode::kParallel, "loose");
  builder.no_barrier();
  builder.set_layer(1);
  append(Mode::kParallel, "twice");
  append(Mode::kGather, "gather");
  append(Mode::kSerial, "serial");
  append(Mode::kScatter, "scatter");
  return std::move(builder).finish();
}

constexpr uint32_t kMembers = 4;

struct Fixture {
  explicit Fixture(uint32_t groups)
      : plan(even_plan(Phase::kDecode, 8, groups, groups, kMembers)),
        graph(nap_graph(plan, &arrived)),
        profile(graph),
        memory(graph),
        context(graph, memory, {}),
        team(kMembers),
        executor(team, plan, std::vector<std::byte*>(kMembers, nullptr)) {
    executor.set_profile(&profile);
  }

  void begin(uint32_t rows) {
    tokens.assign(rows, 0);
    StepView step;
    step.tokens = tokens;
    context.begin(step);
  }
  void run(uint32_t rows) {
    begin(rows);
    executor.run(context);
  }
  uint32_t node(const std::string& name) const {
    uint32_t n = 0;
    while (graph.nodes[n].name != name) ++n;
    return n;
  }

  std::atomic<uint32_t> arrived{0};
  Plan plan;
  Graph graph;
  Profile profile;
  TestMemory memory;
  ExecutionContext context;
  std::vector<int32_t> tokens;
  Team team;
  Executor executor;
};

TEST(Profile, CallsAreOfThoseWhoWork) {
  for (uint32_t groups : {1u, 2u, 4u}) {
    Fixture f(groups);
    for (int run = 0; run < 3; ++run) f.run(1);
    for (uint32_t m = 0; m < kMembers; ++m) {
      for (uint32_t n = 0; n < f.graph.nodes.size(); ++n) {
        bool works = f.graph.nodes[n].instances.size() == groups || m < kMembers / groups;
        EXPECT_EQ(f.profile.record(m, n).calls, works ? 3u : 0u) << m << " " << n;
        const ProfileRecord& record = f.profile.record(m, n);
        if (!works) {
          EXPECT_EQ(record.work + record.barrier, 0);
        }
      }
    }
  }
}

TEST(Profile, WaitsAreOnlyWhereTheGraphHasThem) {
  for (uint32_t groups : {1u, 2u}) {
    Fixture f(groups);
    f.run(1);
    for (uint32_t m = 0; m < kMembers; ++m) {
      for (uint32_t n = 0; n < f.graph.nodes.size(); ++n) {
        const GraphNode& node = f.graph.nodes[n];
        if (node.sync == Sync::kNone) {
          EXPECT_EQ(f.profile.record(m, n).meet, 0) << node.name;
        }
        if (!node.barrier_after) {
          EXPECT_EQ(f.profile.record(m, n).barrier, 0) << node.name;
        }
      }
    }
    EXPECT_EQ(f.graph.sync_count, groups == 1 ? 0u : 3u);
  }
}

TEST(Profile, TheSlowOneWorksAndTheOthersWait) {
  Fixture f(2);
  f.run(1);
  uint32_t slow = f.node("slow"), reduce = f.node("reduce");
  EXPECT_GE(f.profile.record(0, slow).work, kNapNs);
  // The nap begins when all have arrived and ends before member 0's barrier. So its own group
  // spends that time in "slow"; the other group spends it there or on the way into "reduce".
  const ProfileRecord& peer = f.profile.record(1, slow);
  EXPECT_GE(peer.work + peer.barrier, kNapNs);
  for (uint32_t m : {2u, 3u}) {
    const ProfileRecord& record = f.profile.record(m, slow);
    EXPECT_GE(record.work + record.barrier + f.profile.record(m, reduce).meet, kNapNs);
  }
}

TEST(Profile, TimesAddUpToNoMoreThanTheWall) {
  for (uint32_t groups : {1u, 2u, 4u}) {
    Fixture f(groups);
    for (int run = 0; run < 5; ++run) f.run(1);
    ProfileSummary summary = f.profile.summary();
    ASSERT_EQ(summary.by_threads.size(), kMembers);
    double of_threads = 0, of_rows = 0, slack = 1e-9;
    for (const ProfileTimes& times : summary.by_threads) {
      EXPECT_GE(times.total(), 5e-9 * kNapNs);
      EXPECT_LE(times.total(), summary.seconds + slack);
      of_threads += times.total();
    }
    for (const ProfileRow& row : summary.rows) {
      of_rows += 4 * row.mean.total();
      EXPECT_GE(row.most.meet + slack, row.mean.meet);
      EXPECT_GE(row.most.work + slack, row.mean.work);
      EXPECT_GE(row.most.barrier + slack, row.mean.barrier);
      EXPECT_LE(row.most.work, 4 * row.mean.work + slack);
    }
    EXPECT_NEAR(of_threads, of_rows, slack);
  }
}

TEST(Profile, SummaryIsByNameInOrder) {
  Fixture f(2);
  f.run(3);
  f.run(5);
  ProfileSummary summary = f.profile.summary();
  EXPECT_EQ(summary.runs, 2u);
  EXPECT_EQ(summary.tokens, 8u);
  EXPECT_EQ(summary.threads, 4u);
  std::vector<std::string> names;
  for (const ProfileRow& row : summary.rows) names.push_back(row.name);
  EXPECT_EQ(names, (std::vector<std::string>{"twice", "slow", "reduce", "loose", "gather", "serial",
                                             "scatter"}));
  // Each of two nodes in two runs reads 100 + 101 bytes in the two groups, and does one operation
  // for each row and group.
  EXPECT_EQ(summary.rows[0].calls, 4u);
  EXPECT_EQ(summary.rows[0].work.bytes, 4u * 201);
  EXPECT_EQ(summary.rows[0].work.of(ArithmeticUnit::kBf16Dot), 2u * 2 * (3 + 5));
  EXPECT_EQ(summary.rows[5].calls, 2u);
  EXPECT_EQ(summary.rows[5].work.bytes, 2u * 100);
}

TEST(Profile, CountsOnlyNodesThatRan) {
  Fixture f(2);
  auto end = static_cast<uint32_t>(f.graph.nodes.size());
  f.begin(1);
  f.executor.run_range(f.context, 0, 3);
  ProfileSummary part = f.profile.summary();
  EXPECT_EQ(part.rows[0].calls, 1u);
  EXPECT_EQ(part.rows[0].work.bytes, 201u);
  EXPECT_EQ(part.rows[3].calls, 0u);
  EXPECT_EQ(part.rows[3].work, OpWork{});
  f.executor.run_range(f.context, 3, end);
  ProfileSummary whole = f.profile.summary();
  EXPECT_EQ(whole.runs, 1u);
  EXPECT_EQ(whole.rows[0].calls, 2u);
  EXPECT_EQ(whole.rows[1].work.bytes, 201u);
  EXPECT_EQ(whole.rows[3].calls, 1u);
  f.executor.set_profile(nullptr);
  f.run(1);
  EXPECT_EQ(f.profile.summary().rows[0].calls, 2u);
  EXPECT_EQ(f.profile.summary().seconds, whole.seconds);
}

TEST(SyncCounts, AreOfOneLayer) {
  Fixture two(2), one(1);
  EXPECT_EQ(sync_counts(two.graph, -1), (SyncCounts{1, 0}));
  EXPECT_EQ(sync_counts(two.graph, 0), (SyncCounts{2, 1}));
  // No barrier follows the graph's last node.
  EXPECT_EQ(sync_counts(two.graph, 1), (SyncCounts{3, 2}));
  EXPECT_EQ(sync_counts(one.graph, 1), (SyncCounts{3, 0}));
  EXPECT_EQ(sync_counts(two.graph, 2), (SyncCounts{0, 0}));
}

}  // namespace
}  // namespace hearth
