// Makes schedules that hardly ever occur by chance. More threads than there are cores run flags,
// barriers, chunk counters and whole graphs. The threads delay at random at every delay point
// (threads/delay_point.h) and in every op. Each written value is a hash of its writer and time, and
// each reader knows the hash it must find. So a reader detects a value that is old, torn, or of a
// later time. A lost wake-up hangs the test, which ctest's limit then ends.
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "graph/builder.h"
#include "graph/executor.h"
#include "graph/test_memory.h"
#include "threads/barrier.h"
#include "threads/chunk_counter.h"
#include "threads/delay_point.h"
#include "threads/flag.h"

namespace hearth {
namespace {

#if defined(HEARTH_FEW_ROUNDS)
constexpr uint32_t kGraphs = 30, kRuns = 4, kRounds = 300;
#else
constexpr uint32_t kGraphs = 200, kRuns = 6, kRounds = 2000;
#endif

uint32_t hash(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  uint64_t h = a * 0x9e3779b97f4a7c15 ^ b * 0xc2b2ae3d27d4eb4f ^ c * 0x165667b19e3779f9 ^ d;
  h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9;
  return static_cast<uint32_t>(h >> 32);
}

// Returns random bits without state: the last digits of the clock. The order of events does not
// depend on a seed anyway.
uint32_t chance() noexcept {
  auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  return hash(static_cast<uint32_t>(now), static_cast<uint32_t>(gettid()), 0, 0);
}

void dawdle() noexcept {
  uint32_t c = chance() % 256;
  if (c == 0) std::this_thread::sleep_for(std::chrono::microseconds(chance() % 300));
  if (c < 24) sched_yield();
  if (c % 8 == 1) {
    std::atomic<uint32_t> work{0};
    for (uint32_t i = c; i > 0; --i) work.fetch_add(i, std::memory_order_relaxed);
  }
}

// A record of plain memory that is written before a flag is posted and read after it.
class Record {
 public:
  void write(uint32_t epoch) {
    for (uint32_t i = 0; i < kWords; ++i) {
      words_[i] = hash(epoch, i, 0, 0);
      if (i == kWords / 2) dawdle();
    }
  }
  bool holds(uint32_t epoch) const {
    bool all = true;
    for (uint32_t i = 0; i < kWords; ++i) all &= words_[i] == hash(epoch, i, 0, 0);
    return all;
  }

 private:
  static constexpr uint32_t kWords = 40;
  uint32_t words_[kWords] = {};
};

template <typename Body>
void on_threads(uint32_t count, const Body& body) {
  std::vector<std::thread> threads;
  Barrier start(count);
  for (uint32_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait(i);
      body(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// One thread notifies the others, which answer by flags of their own. It uses post() on one flag
// that all wait for, or post_all() on one flag each. Epochs begin shortly before they wrap.
void post_and_answer(uint32_t readers, bool each) {
  std::vector<Flag> posted(each ? readers : 1), answers(readers);
  std::vector<Flag*> all;
  for (Flag& flag : posted) all.push_back(&flag);
  uint32_t begin = 0u - kRounds / 2;
  for (Flag& flag : posted) flag.post(begin);
  for (Flag& flag : answers) flag.post(begin);
  Record record;
  std::atomic<uint32_t> wrong{0};
  on_threads(readers + 1, [&](uint32_t index) {
    for (uint32_t epoch = begin + 1; epoch != begin + kRounds; ++epoch) {
      dawdle();
      if (index < readers) {
        posted[each ? index : 0].wait_at_least(epoch);
        if (!record.holds(epoch)) wrong.fetch_add(1);
        answers[index].post(epoch);
        continue;
      }
      record.write(epoch);
      if (each) {
        Flag::post_all(all, epoch);
      } else {
        posted[0].post(epoch);
      }
      for (Flag& answer : answers) answer.wait_at_least(epoch);
    }
  });
  EXPECT_EQ(wrong.load(), 0u);
  for (Flag& flag : posted) EXPECT_EQ(flag.sleepers(), 0u);
}

TEST(SyncFuzz, FlagsWakeEveryReader) {
  for (uint32_t readers : {1u, 3u, 6u}) {
    post_and_answer(readers, false);
    post_and_answer(readers, true);
  }
}

TEST(SyncFuzz, BarriersHoldThreadsUntilAllArrive) {
  for (uint32_t size : {2u, 3u, 5u, 8u}) {
    Barrier barrier(size);
    std::vector<Record> records(size);
    std::atomic<uint32_t> wrong{0};
    on_threads(size, [&](uint32_t index) {
      for (uint32_t round = 1; round <= kRounds / 3; ++round) {
        records[index].write(round);
        barrier.arrive_and_wait(index);
        for (const Record& record : records) wrong.fetch_add(!record.holds(round));
        barrier.arrive_and_wait(index);
      }
    });
    EXPECT_EQ(wrong.load(), 0u) << size;
  }
}

TEST(SyncFuzz, ChunksAreClaimedOnce) {
  constexpr uint32_t kThreads = 6, kChunks = 11;
  ChunkCounter counter;
  std::vector<std::atomic<uint32_t>> claims(size_t{kRounds} * kChunks);
  on_threads(kThreads, [&](uint32_t) {
    for (uint32_t round = 0; round < kRounds; ++round) {
      for (uint32_t c; (c = counter.next(round + 1, kChunks)) < kChunks;) {
        claims[round * kChunks + c].fetch_add(1);
      }
    }
  });
  for (const auto& claim : claims) ASSERT_EQ(claim.load(), 1u);
}

constexpr uint32_t kChunk = 16, kPieces = 6, kWidth = kChunk * kPieces;

// A value whose written elements hold the hash of the run, of the node that wrote it, of its group,
// and of the element.
struct Tagged {
  ValueId value;
  uint32_t node, group;
};

uint32_t* words(ExecutionContext& context, ValueId id) {
  return reinterpret_cast<uint32_t*>(context.f32(id));
}

// An op that checks all its inputs, then writes its part of its outputs. These are chunks that
// threads of the group claim and report in order, or, for values of all groups, elements dealt to
// the workers of all groups. Then it checks its inputs once more, since no thread may overwrite
// them before all are done.
class TaggedOp : public Op {
 public:
  TaggedOp(std::vector<Tagged> in, std::vector<Tagged> out, bool dealt,
           std::atomic<uint64_t>& wrong)
      : in_(std::move(in)), out_(std::move(out)), dealt_(dealt), wrong_(wrong) {}

  uint32_t counters() const override { return static_cast<uint32_t>(out_.size()); }
  uint32_t flags() const override { return counters() * kPieces; }

  void run(ExecutionContext& context, const OpSync& sync,
           const Worker& worker) const noexcept override {
    auto run = static_cast<uint32_t>(context.step().tokens[0]);
    dawdle();
    for (const Tagged& in : in_) look_at(context, run, in, kWidth);
    for (uint32_t o = 0; o < out_.size(); ++o) {
      dawdle();
      if (dealt_) {
        uint32_t workers = context.graph().plan.worker_count();
        write(context, run, out_[o], worker.place, kWidth, workers);
        continue;
      }
      const uint32_t flag = sync.flag0 + o * kPieces;
      for (uint32_t c; (c = context.claim(sync.counter0 + o, kPieces)) < kPieces;) {
        write(context, run, out_[o], c * kChunk, (c + 1) * kChunk, 1);
        if (c > 0) context.wait_for(flag + c - 1);
        look_at(context, run, out_[o], c * kChunk);
        context.post(flag + c);
      }
    }
    for (const Tagged& in : in_) look_at(context, run, in, kWidth);
    dawdle();
  }

 private:
  // Counts the wrong elements among the first `width`.
  void look_at(ExecutionContext& context, uint32_t run, const Tagged& in,
               uint32_t width) const noexcept {
    const uint32_t* found = words(context, in.value);
    uint64_t wrong = 0;
    for (uint32_t i = 0; i < width; ++i) wrong += found[i] != hash(run, in.node, in.group, i);
    if (wrong != 0) wrong_.fetch_add(wrong);
  }
  static void write(ExecutionContext& context, uint32_t run, const Tagged& out, uint32_t begin,
                    uint32_t end, uint32_t step) noexcept {
    for (uint32_t i = begin; i < end; i += step) {
      words(context, out.value)[i] = hash(run, out.node, out.group, i);
    }
  }

  std::vector<Tagged> in_, out_;
  bool dealt_;
  std::atomic<uint64_t>& wrong_;
};

// Makes a plan of groups of unequal sizes. Each group works on a shard or on a part of one, or one
// group on all shards. Their members stand in any order, and some rest.
Plan random_plan(std::mt19937& random, uint32_t groups) {
  Plan plan;
  plan.sync = random() % 3 == 0 ? GroupSync::kLockstep : GroupSync::kAsync;
  bool parts = random() % 2 == 0;
  std::vector<uint32_t> members = member_range(0, 4 * groups);
  std::shuffle(members.begin(), members.end(), random);
  plan.member_shards.assign(members.size(), 0);
  for (uint32_t g = 0; g < groups; ++g) {
    uint32_t shards = groups == 1 ? 2 : 1;
    GroupShare share =
        parts && groups > 1 ? GroupShare{0, 1, g, groups} : GroupShare{g, g + shards, 0, 1};
    PlanGroup& group = plan.groups.emplace_back(PlanGroup{{}, share});
    for (uint32_t size = 1 + static_cast<uint32_t>(random() % 3); size > 0; --size) {
      const uint32_t m = members.back();
      members.pop_back();
      group.members.push_back(m);
      plan.member_shards[m] = share.shard_begin + m % (share.shard_end - share.shard_begin);
    }
    std::sort(group.members.begin(), group.members.end());
  }
  return parse_plan(plan_text(plan));
}

// Makes layers of random nodes. Each has a reduce, as in models.
class GraphMaker {
 public:
  GraphMaker(const Plan& plan, std::mt19937& random, std::atomic<uint64_t>& wrong)
      : random_(random), builder_(plan, kernels_for(Isa::kReference), 1), wrong_(wrong) {
    now_ = parallel(Mode::kParallel, {});
  }

  Graph make(uint32_t layers) && {
    for (uint32_t layer = 0; layer < layers; ++layer) {
      builder_.set_layer(static_cast<int>(layer));
      for (uint32_t n = random_() % 3; n > 0; --n) now_ = parallel(Mode::kParallel, now_);
      if (random_() % 3 == 0) gather_and_scatter();
      if (random_() % 3 == 0) apart();
      now_ = random_() % 2 == 0 ? parallel(Mode::kReduce, now_) : dealt(now_);
      for (uint32_t n = random_() % 3; n > 0; --n) now_ = parallel(Mode::kParallel, now_);
    }
    look_at_all();
    return std::move(builder_).finish();
  }

 private:
  using Values = std::vector<Tagged>;

  uint32_t groups() const { return builder_.group_count(); }

  static Bundle bundle_of(const Values& values) {
    Bundle bundle;
    for (const Tagged& value : values) bundle.values.push_back(value.value);
    return bundle;
  }
  Values make_values(uint32_t count) {
    Values values;
    ++node_;
    for (uint32_t g = 0; g < count; ++g) {
      values.push_back({builder_.add_value(RowSet::kTokens, kWidth, g), node_, g});
    }
    builder_.writes(bundle_of(values));
    return values;
  }
  void append(Mode mode, const Values& in, std::vector<std::unique_ptr<Op>> ops) {
    builder_.reads(bundle_of(in), ActFormat::kF32);
    builder_.append(mode, "node", std::move(ops));
  }
  std::unique_ptr<Op> op(Values in, Values out, bool is_dealt = false) {
    return std::make_unique<TaggedOp>(std::move(in), std::move(out), is_dealt, wrong_);
  }

  // Appends a node where each group reads its own value; in a reduce each reads all values.
  Values parallel(Mode mode, const Values& in) {
    Values out = make_values(groups());
    std::vector<std::unique_ptr<Op>> ops;
    for (uint32_t g = 0; g < groups(); ++g) {
      Values mine = in;
      if (mode == Mode::kParallel && !in.empty()) mine = {in[g]};
      ops.push_back(op(mine, {out[g]}));
    }
    append(mode, in, std::move(ops));
    return out;
  }

  void look_at_all() {
    std::vector<std::unique_ptr<Op>> ops;
    for (uint32_t g = 0; g < groups(); ++g) ops.push_back(op(now_, {}));
    append(Mode::kReduce, now_, std::move(ops));
  }

  Values dealt(const Values& in) {
    Values out = make_values(groups());
    std::vector<std::unique_ptr<Op>> ops;
    for (uint32_t g = 0; g < groups(); ++g) ops.push_back(op(in, out, true));
    append(Mode::kReduce, in, std::move(ops));
    builder_.meet_after();
    return out;
  }

  // Appends two nodes without a barrier between them, since the second does not read the first's
  // output.
  void apart() {
    Values first = parallel(Mode::kParallel, now_);
    builder_.no_barrier();
    Values second = parallel(Mode::kParallel, now_);
    Values both = make_values(groups());
    std::vector<std::unique_ptr<Op>> ops;
    for (uint32_t g = 0; g < groups(); ++g) ops.push_back(op({first[g], second[g]}, {both[g]}));
    builder_.reads(bundle_of(first), ActFormat::kF32);
    append(Mode::kParallel, second, std::move(ops));
    now_ = both;
  }

  void gather_and_scatter() {
    Values gathered = one(Mode::kGather, now_);
    Values serial = one(Mode::kSerial, gathered);
    Values out = make_values(groups());
    std::vector<std::unique_ptr<Op>> ops;
    for (uint32_t g = 0; g < groups(); ++g) ops.push_back(op(serial, {out[g]}));
    append(Mode::kScatter, serial, std::move(ops));
    now_ = out;
  }
  Values one(Mode mode, const Values& in) {
    Values out = make_values(1);
    std::vector<std::unique_ptr<Op>> ops;
    ops.push_back(op(in, out));
    append(mode, in, std::move(ops));
    return out;
  }

  std::mt19937& random_;
  GraphBuilder builder_;
  std::atomic<uint64_t>& wrong_;
  Values now_;
  uint32_t node_ = 0;
};

// Runs the graph with `number` as the run's number. Some runs are abandoned at a layer.
bool run_graph(Executor& executor, ExecutionContext& context, std::mt19937& random,
               int32_t number) {
  std::vector<int32_t> tokens = {number};
  StepView step;
  step.tokens = tokens;
  context.begin(step);
  uint32_t left = static_cast<uint32_t>(random() % 12);
  Executor::Abandon abandon = [&left] { return left-- == 0; };
  return executor.run(context, &abandon);
}

TEST(SyncFuzz, GraphsReadWhatWasWritten) {
  std::mt19937 random(20);
  uint32_t abandoned = 0, finished = 0;
  for (uint32_t g = 0; g < kGraphs; ++g) {
    Plan plan = random_plan(random, 1 + g % 5);
    SCOPED_TRACE(plan_text(plan));
    std::atomic<uint64_t> wrong{0};
    Graph graph = GraphMaker(plan, random, wrong).make(5);
    TestMemory memory(graph);
    ExecutionContext context(graph, memory, {});
    Team team(plan.member_count());
    Executor executor(team, plan, std::vector<std::byte*>(plan.member_count(), nullptr));
    for (uint32_t run = 1; run <= kRuns; ++run) {
      bool whole = run_graph(executor, context, random, static_cast<int32_t>(run));
      ++(whole ? finished : abandoned);
      ASSERT_EQ(wrong.load(), 0u) << "graph " << g << ", run " << run;
    }
  }
  EXPECT_GT(abandoned, 0u);
  EXPECT_GT(finished, 0u);
}

}  // namespace

void delay_point() noexcept { dawdle(); }
bool skips_spinning() noexcept { return chance() % 4 == 0; }

}  // namespace hearth
