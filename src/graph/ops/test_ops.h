// Makes weights from matrices, fills values from them and runs small graphs, for tests of ops.
#pragma once

#include <memory>
#include <random>
#include <vector>

#include "graph/context.h"
#include "graph/executor.h"
#include "graph/test_memory.h"

namespace hearth {

// [rows][columns], random numbers from -1 to 1.
struct TestMatrix {
  TestMatrix(uint32_t rows_, uint32_t columns_, uint32_t seed)
      : rows(rows_), columns(columns_), x(size_t{rows_} * columns_) {
    std::mt19937 random(seed);
    for (float& f : x) f = static_cast<float>(random() >> 8) * 0x1p-23f - 1.0f;
  }
  uint32_t rows, columns;
  std::vector<float> x;
  const float* row(uint32_t r) const { return x.data() + size_t{r} * columns; }
};

struct alignas(64) TestLine {
  std::byte bytes[64];
};

// A row-cut f32 weight with a matrix in it.
struct TestWeight {
  TestWeight(const TestMatrix& m, const AxisCuts& cuts, uint32_t unit)
      : weight(cut_weight("w", DType::kF32, m.rows, m.columns, CutBy::kRows, cuts, unit)) {
    for (Shard& shard : weight.shards) {
      memory.emplace_back(shard.spec.codes_bytes() / sizeof(TestLine) + 1);
      shard.codes = memory.back()[0].bytes;
      const auto* source = reinterpret_cast<const std::byte*>(m.row(shard.row0));
      pack_panels(shard.spec, DType::kF32, source, m.columns * sizeof(float), 0,
                  shard.spec.panels(), shard.codes, nullptr);
    }
  }
  TestWeight(const TestWeight&) = delete;
  Weight weight;
  std::vector<std::vector<TestLine>> memory;
};

// A matrix's only row as a vector that every shard reads.
inline VectorWeight test_vector(const TestMatrix& m, uint32_t shards) {
  return {m.columns, std::vector<const float*>(shards, m.x.data())};
}

// Fills a value in every format that its readers ask for.
class TestInputOp : public Op {
 public:
  TestInputOp(const TestMatrix& from, ValueId to) : from_(from), to_(to) {}
  void run(ExecutionContext& context, const OpSync&, const Worker& worker) const noexcept override {
    for (uint32_t r = worker.index; r < context.step().rows(); r += worker.count) {
      for (size_t f = 0; f < kActFormats; ++f) {
        const auto format = static_cast<ActFormat>(f);
        if (!context.wants(to_, format)) continue;
        context.kernels().quantize[f](
            {from_.row(r), 0, from_.columns, context.buffer(to_, format), r});
      }
    }
  }

 private:
  const TestMatrix& from_;
  ValueId to_;
};

inline Bundle test_input(GraphBuilder& builder, const TestMatrix& from) {
  Bundle x = builder.add_values(RowSet::kTokens,
                                std::vector<uint32_t>(builder.group_count(), from.columns));
  builder.writes(x);
  std::vector<std::unique_ptr<Op>> ops;
  for (ValueId value : x.values) ops.push_back(std::make_unique<TestInputOp>(from, value));
  builder.append(Mode::kParallel, "input", std::move(ops));
  return x;
}

// Keeps the values that it reads alive, so that a test can look at them after the run.
class TestOutputOp : public Op {
  void run(ExecutionContext&, const OpSync&, const Worker&) const noexcept override {}
};

inline void test_output(GraphBuilder& builder, const Bundle& x) {
  builder.reads(x, ActFormat::kF32);
  std::vector<std::unique_ptr<Op>> ops;
  for (uint32_t g = 0; g < builder.group_count(); ++g) {
    ops.push_back(std::make_unique<TestOutputOp>());
  }
  builder.append(Mode::kParallel, "output", std::move(ops));
}

// Memory and threads for a graph.
class TestRun {
 public:
  explicit TestRun(Graph graph)
      : graph_(std::move(graph)),
        memory_(graph_),
        context_(graph_, memory_, {}),
        team_(graph_.plan.member_count()),
        scratch_(graph_.plan.member_count() * (kOpScratchBytes / sizeof(TestLine))),
        executor_(team_, graph_.plan, scratch_of_members()) {}

  void run(const StepView& step) {
    context_.begin(step);
    executor_.run(context_);
  }
  const ExecutionContext& context() const { return context_; }

 private:
  std::vector<std::byte*> scratch_of_members() {
    std::vector<std::byte*> all;
    for (uint32_t m = 0; m < graph_.plan.member_count(); ++m) {
      all.push_back(scratch_[m * (kOpScratchBytes / sizeof(TestLine))].bytes);
    }
    return all;
  }

  Graph graph_;
  TestMemory memory_;
  ExecutionContext context_;
  Team team_;
  std::vector<TestLine> scratch_;
  Executor executor_;
};

// Returns plans of one to two shards, one to four groups, one to four threads.
inline std::vector<Plan> test_plans(uint32_t max_rows) {
  std::vector<Plan> all;
  for (auto [shards, groups, members] :
       {std::tuple{1u, 1u, 1u}, {1u, 1u, 3u}, {1u, 3u, 3u}, {2u, 1u, 2u}, {2u, 4u, 4u}}) {
    all.push_back(even_plan(Phase::kPrefill, max_rows, shards, groups, members));
  }
  return all;
}

}  // namespace hearth
