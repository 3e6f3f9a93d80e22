// Tests the five modes, groups in lockstep and not, and the lifetimes of values. Its toy ops can
// tell whether another group's value was complete when they read it.
#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <random>
#include <thread>

#include "graph/builder.h"
#include "graph/context.h"
#include "graph/executor.h"
#include "graph/test_memory.h"

namespace hearth {
namespace {

constexpr uint32_t kWidth = 64;

// out[r][i] = sum over inputs of in[r][i] + bias. The columns are dealt out to the group's threads,
// with random delays so that groups and threads drift apart.
class SumOp : public Op {
 public:
  SumOp(std::vector<ValueId> in, ValueId out, float bias, uint32_t seed)
      : in_(std::move(in)), out_(out), bias_(bias), seed_(seed) {}
  void run(ExecutionContext& context, const OpSync&, const Worker& worker) const noexcept override {
    std::mt19937 random(seed_ * 31 + worker.index + 7 * worker.group +
                        static_cast<uint32_t>(context.step().tokens[0]));
    if (random() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 200));
    for (uint32_t r = 0; r < context.step().rows(); ++r) {
      for (uint32_t i = worker.index; i < kWidth; i += worker.count) {
        float sum = bias_;
        for (ValueId id : in_) sum += context.f32(id)[r * context.f32_stride(id) + i];
        context.f32(out_)[r * context.f32_stride(out_) + i] = sum;
      }
    }
  }

 private:
  std::vector<ValueId> in_;
  ValueId out_;
  float bias_;
  uint32_t seed_;
};

// out[g][r][i] = sum over inputs of in[r][i] + biases[g] in every group g. The columns are dealt
// out to all members of the plan.
class DealtSumOp : public Op {
 public:
  DealtSumOp(std::vector<ValueId> in, std::vector<ValueId> out, std::vector<float> biases,
             uint32_t seed)
      : in_(std::move(in)), out_(std::move(out)), biases_(std::move(biases)), seed_(seed) {}
  void run(ExecutionContext& context, const OpSync&, const Worker& worker) const noexcept override {
    std::mt19937 random(seed_ * 31 + worker.member);
    if (random() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 200));
    for (uint32_t r = 0; r < context.step().rows(); ++r) {
      for (uint32_t i = worker.place; i < kWidth; i += context.graph().plan.worker_count()) {
        float sum = 0;
        for (ValueId id : in_) sum += context.f32(id)[r * context.f32_stride(id) + i];
        for (size_t g = 0; g < out_.size(); ++g) {
          context.f32(out_[g])[r * context.f32_stride(out_[g]) + i] = sum + biases_[g];
        }
      }
    }
  }

 private:
  std::vector<ValueId> in_, out_;
  std::vector<float> biases_;
  uint32_t seed_;
};

// A random graph over all five modes, with its results: sums of small integers, exact in f32. The
// last node writes no value that is checked: it keeps the values before it alive.
struct RandomGraph {
  Graph graph;
  std::vector<ValueId> last;    // values to look at once all nodes but the last have run
  std::vector<float> expected;  // the elements of each value of `last`
};

class RandomGraphMaker {
 public:
  RandomGraphMaker(const Plan& plan, uint32_t seed)
      : random_(seed), builder_(plan, kernels_for(Isa::kReference), 1) {
    std::vector<std::unique_ptr<Op>> ops;
    parallel_ = per_group();
    for (uint32_t g = 0; g < groups(); ++g) {
      expected_.push_back(static_cast<float>(g + 1));
      ops.push_back(op({}, parallel_.values[g], expected_[g]));
    }
    builder_.writes(parallel_);
    builder_.append(Mode::kParallel, "start", std::move(ops));
  }

  RandomGraph make(int nodes) && {
    for (int n = 0; n < nodes; ++n) {
      switch (random_() % 4) {
        case 0:
          parallel();
          break;
        case 1:
          reduce();
          break;
        case 2:
          dealt_reduce();
          break;
        default:
          gather_and_scatter();
      }
    }
    builder_.reads(parallel_, ActFormat::kF32);
    std::vector<std::unique_ptr<Op>> ops;
    for (ValueId value : parallel_.values) ops.push_back(op({}, value, 0));
    builder_.append(Mode::kParallel, "last", std::move(ops));
    return {std::move(builder_).finish(), parallel_.values, expected_};
  }

 private:
  uint32_t groups() const { return builder_.group_count(); }
  Bundle per_group() {
    return builder_.add_values(RowSet::kTokens, std::vector<uint32_t>(groups(), kWidth));
  }
  std::unique_ptr<Op> op(std::vector<ValueId> in, ValueId out, float bias) {
    return std::make_unique<SumOp>(std::move(in), out, bias, static_cast<uint32_t>(random_()));
  }
  float total() const { return std::accumulate(expected_.begin(), expected_.end(), 0.0f); }

  void parallel() {
    std::vector<std::unique_ptr<Op>> ops;
    Bundle next = per_group();
    for (uint32_t g = 0; g < groups(); ++g) {
      ops.push_back(op({parallel_.values[g]}, next.values[g], 1));
      expected_[g] += 1;
    }
    builder_.reads(parallel_, ActFormat::kF32);
    builder_.writes(next);
    builder_.append(Mode::kParallel, "parallel", std::move(ops));
    parallel_ = next;
  }

  void reduce() {
    std::vector<std::unique_ptr<Op>> ops;
    Bundle next = per_group();
    float sum = total();
    for (uint32_t g = 0; g < groups(); ++g) {
      expected_[g] = static_cast<float>(g + 1);
      ops.push_back(op(parallel_.values, next.values[g], expected_[g] - sum));
    }
    builder_.reads(parallel_, ActFormat::kF32);
    builder_.writes(next);
    builder_.append(Mode::kReduce, "reduce", std::move(ops));
    parallel_ = next;
  }

  void dealt_reduce() {
    std::vector<std::unique_ptr<Op>> ops;
    Bundle next = per_group();
    std::vector<float> biases;
    float sum = total();
    for (uint32_t g = 0; g < groups(); ++g) {
      expected_[g] = static_cast<float>(2 * g + 1);
      biases.push_back(expected_[g] - sum);
    }
    for (uint32_t g = 0; g < groups(); ++g) {
      ops.push_back(std::make_unique<DealtSumOp>(parallel_.values, next.values, biases,
                                                 static_cast<uint32_t>(random_())));
    }
    builder_.reads(parallel_, ActFormat::kF32);
    builder_.writes(next);
    builder_.append(Mode::kReduce, "dealt", std::move(ops));
    builder_.meet_after();
    parallel_ = next;
  }

  void gather_and_scatter() {
    Bundle gathered = builder_.add_values(RowSet::kTokens, {kWidth}, false);
    append_one(Mode::kGather, parallel_, gathered, 1 - total());
    Bundle serial = builder_.add_values(RowSet::kTokens, {kWidth}, false);
    append_one(Mode::kSerial, gathered, serial, 1);
    std::vector<std::unique_ptr<Op>> ops;
    Bundle next = per_group();
    for (uint32_t g = 0; g < groups(); ++g) {
      ops.push_back(op({serial.values[0]}, next.values[g], static_cast<float>(g)));
      expected_[g] = static_cast<float>(g + 2);
    }
    builder_.reads(serial, ActFormat::kF32);
    builder_.writes(next);
    builder_.append(Mode::kScatter, "scatter", std::move(ops));
    parallel_ = next;
  }

  void append_one(Mode mode, const Bundle& in, const Bundle& out, float bias) {
    std::vector<std::unique_ptr<Op>> ops;
    ops.push_back(op(in.values, out.values[0], bias));
    builder_.reads(in, ActFormat::kF32);
    builder_.writes(out);
    builder_.append(mode, "one", std::move(ops));
  }

  std::mt19937 random_;
  GraphBuilder builder_;
  Bundle parallel_;
  std::vector<float> expected_;
};

StepView one_row(const std::vector<int32_t>& tokens) {
  StepView step;
  step.tokens = tokens;
  return step;
}

void expect_values(ExecutionContext& context, const RandomGraph& random) {
  for (size_t g = 0; g < random.last.size(); ++g) {
    for (uint32_t i = 0; i < kWidth; ++i) {
      ASSERT_EQ(context.f32(random.last[g])[i], random.expected[g]) << "group " << g;
    }
  }
}

// Renumbers the members of a plan's groups so that a resting member stands before each of them, and
// the last group's members come first.
void some_rest(Plan* plan) {
  const uint32_t members = plan->member_count();
  for (PlanGroup& group : plan->groups) {
    for (uint32_t& m : group.members) m = 2 * (members - 1 - m) + 1;
    std::sort(group.members.begin(), group.members.end());
  }
  plan->member_shards.assign(2 * members, 0);
}

TEST(Modes, RandomGraphsComputeWhatTheyShould) {
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    uint32_t groups = 1 + seed % 4;
    Plan plan = even_plan(Phase::kDecode, 2, groups, groups, groups + seed % 3);
    if (seed > 40) plan.sync = GroupSync::kLockstep;
    if (seed % 3 == 0) some_rest(&plan);
    RandomGraph random = RandomGraphMaker(plan, seed).make(25);
    TestMemory memory(random.graph);
    ExecutionContext context(random.graph, memory, {});
    Team team(plan.member_count());
    Executor executor(team, plan, std::vector<std::byte*>(plan.member_count(), nullptr));
    for (int32_t run = 0; run < 5; ++run) {
      std::vector<int32_t> tokens = {run};
      context.begin(one_row(tokens));
      executor.run_range(context, 0, static_cast<uint32_t>(random.graph.nodes.size()) - 1);
      expect_values(context, random);
    }
  }
}

TEST(Modes, TwoContextsInterleaveOnOneGraph) {
  for (GroupSync sync : {GroupSync::kAsync, GroupSync::kLockstep}) {
    Plan plan = even_plan(Phase::kDecode, 2, 2, 2, 4);
    plan.sync = sync;
    RandomGraph random = RandomGraphMaker(plan, 99).make(40);
    auto end = static_cast<uint32_t>(random.graph.nodes.size()) - 1;
    TestMemory first_memory(random.graph), second_memory(random.graph);
    ExecutionContext first(random.graph, first_memory, {});
    ExecutionContext second(random.graph, second_memory, {});
    Team team(4);
    Executor executor(team, plan, std::vector<std::byte*>(4, nullptr));
    std::mt19937 chance(5);
    for (int32_t run = 0; run < 5; ++run) {
      std::vector<int32_t> tokens = {run}, others = {run + 100};
      first.begin(one_row(tokens));
      second.begin(one_row(others));
      uint32_t a = 0, b = 0;
      while (a < end || b < end) {
        bool take_first = b == end || (a < end && chance() % 2 == 0);
        uint32_t& at = take_first ? a : b;
        uint32_t to = std::min(end, at + 1 + static_cast<uint32_t>(chance() % 5));
        executor.run_range(take_first ? first : second, at, to);
        at = to;
      }
      expect_values(first, random);
      expect_values(second, random);
    }
  }
}

TEST(Modes, MemoryDoesNotGrowWithTheGraph) {
  Plan plan = even_plan(Phase::kDecode, 2, 1, 1, 1);
  auto bytes = [&](int nodes) {
    GraphBuilder builder(plan, kernels_for(Isa::kReference), 1);
    Bundle x = builder.add_values(RowSet::kTokens, {kWidth});
    builder.writes(x);
    for (int n = 0; n < nodes; ++n) {
      std::vector<std::unique_ptr<Op>> ops;
      ops.push_back(std::make_unique<SumOp>(std::vector<ValueId>{}, 0, 0.0f, 0));
      builder.append(Mode::kParallel, "n", std::move(ops));
      builder.reads(x, ActFormat::kF32);
      x = builder.add_values(RowSet::kTokens, {kWidth});
      builder.writes(x);
    }
    std::vector<std::unique_ptr<Op>> ops;
    ops.push_back(std::make_unique<SumOp>(std::vector<ValueId>{}, 0, 0.0f, 0));
    builder.append(Mode::kParallel, "last", std::move(ops));
    return std::move(builder).finish().activation_bytes[0];
  };
  EXPECT_EQ(bytes(4), bytes(400));
  EXPECT_GT(bytes(4), 0u);
}

}  // namespace
}  // namespace hearth
