// Tests reduces with the norm before the next block, after the residual, and between the block and
// the residual. Bits must not depend on the groups, on how they synchronise or on the thread that
// sums a row, and must be near the result in double.
#include "graph/ops/reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "graph/context.h"
#include "graph/executor.h"
#include "graph/ops/row_tasks.h"
#include "graph/test_memory.h"

namespace hearth {
namespace {

constexpr int kReduces = 3;  // the last one picks the output rows
constexpr double kU = 0x1p-24;

// The norm between a block and the residual.
enum class JoinNorm : uint8_t { kNone, kBehind, kInner };

struct Layout {
  JoinNorm join;
  NormKind kind;
  NormPlace place;
  ActFormat format;  // that the blocks read
  uint32_t width;
  uint32_t cut_shards, segments;  // of the axis whose partial sums are reduced, in each shard
};

float wave(double step, uint64_t i) {
  return static_cast<float>(std::sin(step * static_cast<double>(i + 1)));
}

struct TestVector {
  TestVector(uint32_t n, double step, float offset, uint32_t shards) : data(n) {
    for (uint32_t i = 0; i < n; ++i) data[i] = offset + wave(step, i);
    weight.size = n;
    weight.copies.assign(shards, data.data());
  }
  std::vector<float> data;
  VectorWeight weight;
};

// Writes x[r][i], the same in every group.
class StartOp : public Op {
 public:
  StartOp(ValueId x, uint32_t width) : x_(x), width_(width) {}
  void run(ExecutionContext& context, const OpSync&, const Worker& worker) const noexcept override {
    RowRange range = rows_of(worker, context.step().rows());
    for (uint32_t r = range.begin; r < range.end; ++r) {
      float* row = context.f32(x_) + r * context.f32_stride(x_);
      for (uint32_t i = 0; i < width_; ++i) row[i] = 2 * wave(0.37 + r, i) + 0.25f;
    }
  }

 private:
  ValueId x_;
  uint32_t width_;
};

// A block: piece p of the partial sums is x, turned by 11 p + 3 elements, times 0.1 p - 0.3.
class BlockOp : public Op {
 public:
  BlockOp(ValueId x, ActFormat format, uint32_t first, std::vector<ValueId> pieces, uint32_t width)
      : x_(x), format_(format), first_(first), pieces_(std::move(pieces)), width_(width) {}
  void run(ExecutionContext& context, const OpSync&, const Worker& worker) const noexcept override {
    RowRange range = rows_of(worker, context.step().rows());
    const ActBuffer& x = context.buffer(x_, format_);
    for (size_t p = 0; p < pieces_.size(); ++p) {
      uint32_t piece = first_ + static_cast<uint32_t>(p), turn = (11 * piece + 3) % width_;
      float factor = 0.1f * static_cast<float>(piece % 8) - 0.3f;
      for (uint32_t r = range.begin; r < range.end; ++r) {
        float* out = context.f32(pieces_[p]) + r * context.f32_stride(pieces_[p]);
        for (uint32_t i = 0; i < width_; ++i) {
          out[i] = factor * element(x, r, i + turn < width_ ? i + turn : i + turn - width_);
        }
      }
    }
  }

 private:
  float element(const ActBuffer& x, size_t r, uint32_t i) const {
    if (format_ == ActFormat::kF32) return x.f32[r * x.row_stride + i];
    return x.scale[(r * x.row_stride + i) / 32] * x.codes[r * x.row_stride + i];
  }

  ValueId x_;
  ActFormat format_;
  uint32_t first_;
  std::vector<ValueId> pieces_;
  uint32_t width_;
};

// Keeps the values that it reads alive.
class LastOp : public Op {
  void run(ExecutionContext&, const OpSync&, const Worker&) const noexcept override {}
};

// Blocks and reduces. Tests can look at every reduce's operands and results.
class Stack {
 public:
  Stack(const Plan& plan, const Layout& layout, uint32_t max_outputs)
      : layout_(layout),
        weight_(layout.width, 0.9, 1.5f, plan.shard_count()),
        join_weight_(layout.width, 1.3, 0.9f, plan.shard_count()),
        norm_bias_(layout.width, 1.7, 0.1f, plan.shard_count()),
        bias_(layout.width, 2.3, 0.0f, plan.shard_count()),
        cuts_(layout.cut_shards * layout.segments, 1, std::vector<uint32_t>(layout.cut_shards, 1)),
        builder_(plan, kernels_for(available_isas(detect_cpu_features()).back()), max_outputs) {
    const bool layer = layout.kind == NormKind::kLayer;
    join_.next = {.kind = layout.kind,
                  .weight = &weight_.weight,
                  .bias = layer ? &norm_bias_.weight : nullptr,
                  .eps = 1e-5f};
    join_.place = layout.place;
    NormWeight first = join_.next;
    first.weight = &join_weight_.weight;
    if (layout.join == JoinNorm::kBehind) join_.behind = first;
    if (layout.join == JoinNorm::kInner) join_.inner = first;
    build();
  }

  Graph finish() && { return std::move(builder_).finish(); }

  const Layout& layout() const { return layout_; }
  // Return the residual before reduce i, its partial sums, and its results.
  const Bundle& x(int i) const { return x_[i]; }
  const Partials& partials(int i) const { return partials_[i]; }
  const Reduced& reduced(int i) const { return reduced_[i]; }
  const std::vector<float>& weight() const { return weight_.data; }
  const std::vector<float>& join_weight() const { return join_weight_.data; }
  const std::vector<float>& norm_bias() const { return norm_bias_.data; }
  const std::vector<float>& bias() const { return bias_.data; }

 private:
  void build() {
    Bundle x = builder_.add_values(RowSet::kTokens, same_width(builder_, layout_.width));
    builder_.writes(x);
    builder_.append(Mode::kParallel, "start", op_per_group(builder_, [&](uint32_t g) {
                      return std::make_unique<StartOp>(x.values[g], layout_.width);
                    }));
    Bundle normed = norm(builder_, "norm", x, join_.next);
    if (layout_.place == NormPlace::kAfterResidual) x = normed;
    for (int i = 0; i < kReduces; ++i) {
      bool last = i + 1 == kReduces;
      x_.push_back(x);
      partials_.push_back(block(normed));
      reduced_.push_back(reduce_add_norm(builder_, "reduce" + std::to_string(i), x,
                                         partials_.back(), join_,
                                         last ? RowSet::kOutputs : RowSet::kTokens));
      x = reduced_.back().x;
      normed = reduced_.back().normed;
    }
    builder_.reads(normed, ActFormat::kF32);
    builder_.append(Mode::kParallel, "last",
                    op_per_group(builder_, [&](uint32_t) { return std::make_unique<LastOp>(); }));
  }

  // Each piece is a single segment. The pieces of a group follow one another.
  Partials block(const Bundle& normed) {
    Partials partials{{{}, {}, cuts_}, layout_.width, &bias_.weight};
    std::vector<std::vector<ValueId>> of_group(builder_.group_count());
    std::vector<uint32_t> first;
    for (uint32_t s = 0; s < layout_.cut_shards; ++s) {
      for (uint32_t i = 0; i < layout_.segments; ++i)
        partials.tree.pieces.push_back({s, {i, i + 1}});
    }
    auto pieces = static_cast<uint32_t>(partials.tree.pieces.size());
    for (uint32_t g = 0; g < builder_.group_count(); ++g) {
      RowRange range = deal_rows(pieces, g, builder_.group_count());
      first.push_back(range.begin);
      for (uint32_t p = range.begin; p < range.end; ++p) {
        of_group[g].push_back(builder_.add_value(RowSet::kTokens, layout_.width, g));
        partials.tree.bundle.values.push_back(of_group[g].back());
      }
    }
    builder_.reads(normed, layout_.format);
    builder_.writes(partials.tree.bundle);
    builder_.append(Mode::kParallel, "block", op_per_group(builder_, [&](uint32_t g) {
                      return std::make_unique<BlockOp>(normed.values[g], layout_.format, first[g],
                                                       of_group[g], layout_.width);
                    }));
    return partials;
  }

  Layout layout_;
  TestVector weight_, join_weight_, norm_bias_, bias_;
  AxisCuts cuts_;
  Join join_;
  GraphBuilder builder_;
  std::vector<Bundle> x_;
  std::vector<Partials> partials_;
  std::vector<Reduced> reduced_;
};

// Returns the group that holds row r of a residual.
uint32_t owner(const ExecutionContext& context, uint32_t r) {
  const Plan& plan = context.graph().plan;
  uint32_t g = 0;
  if (!deals_rows(plan)) return g;
  uint32_t end = plan.groups[0].size();
  while (r >= deal_rows(context.step().rows(), end - 1, plan.worker_count()).end) {
    end += plan.groups[++g].size();
  }
  return g;
}

const float* row_of(const ExecutionContext& context, ValueId id, uint32_t r) {
  return context.f32(id) + r * context.f32_stride(id);
}

// A row in double, and the largest error of binary32 for each element.
struct Truth {
  std::vector<double> row, slack;
  void push_back(double value, double by) {
    row.push_back(value);
    slack.push_back(by);
  }
};

// Returns the sum of the pieces, the bias and `x`. The pieces are added in a tree, and no summand
// is rounded more than `levels` times with its partial sums. `x` is null if the block's result is
// normed before it joins the residual.
Truth add_up(const Stack& stack, const ExecutionContext& context, int i, uint32_t r,
             const float* x) {
  Truth truth;
  uint32_t levels = 2 + stack.layout().segments + stack.layout().cut_shards;
  for (uint32_t e = 0; e < stack.layout().width; ++e) {
    const double own = x == nullptr ? 0.0 : x[e];
    double sum = own + static_cast<double>(stack.bias()[e]);
    double size = std::fabs(own) + std::fabs(stack.bias()[e]);
    for (ValueId id : stack.partials(i).tree.bundle.values) {
      sum += row_of(context, id, r)[e];
      size += std::fabs(row_of(context, id, r)[e]);
    }
    truth.push_back(sum, size * levels * kU * 1.001);
  }
  return truth;
}

// The kernel's own error is derived in kernels/norm/norm_test.cc. The sums that it starts from are
// off by e. That moves the distance from the mean by at most e and the mean of e. It moves the root
// of the mean square (with eps) by at most the root mean square of e, and so by no more than the
// largest e: a norm is 1-Lipschitz, and subtracting means is a contraction.
Truth norm_truth(const Stack& stack, const std::vector<float>& weights, const Truth& sum) {
  Truth truth;
  uint32_t n = stack.layout().width;
  bool layer = stack.layout().kind == NormKind::kLayer;
  double mean = 0, size = 0, squares = 0, mean_slack = 0, max_slack = 0;
  for (uint32_t e = 0; e < n; ++e) {
    if (layer) mean += sum.row[e] / n;
    if (layer) mean_slack += sum.slack[e] / n;
    size += std::fabs(sum.row[e]) / n;
    max_slack = std::max(max_slack, sum.slack[e]);
  }
  for (double x : sum.row) squares += (x - mean) * (x - mean) / n;
  double root = std::sqrt(squares + 1e-5f), shift = layer ? (n / 16 + 6) * kU * size : 0;
  double relative = max_slack / (root - max_slack) + 0.5 * shift * shift / (root * root) +
                    ((n / 16 + 9) * 0.5 + 5) * kU;
  for (uint32_t e = 0; e < n; ++e) {
    double weight = weights[e], scaled = (sum.row[e] - mean) / root * weight;
    double moved = (sum.slack[e] + mean_slack + shift) / root * std::fabs(weight);
    double normed = layer ? scaled + stack.norm_bias()[e] : scaled;
    truth.push_back(
        normed,
        (moved * (1 + relative) + std::fabs(scaled) * relative + std::fabs(normed) * kU) * 1.01);
  }
  return truth;
}

// Returns the sum that reduce i must make of row r: the residual and the block's result. If there
// is a norm between them, the normed row is added to the residual, and this sum rounds once more.
Truth join_truth(const Stack& stack, const ExecutionContext& context, int i, uint32_t r) {
  const JoinNorm join = stack.layout().join;
  const float* x = row_of(context, stack.x(i).values[owner(context, r)], r);
  Truth truth = add_up(stack, context, i, r, join == JoinNorm::kBehind ? nullptr : x);
  if (join == JoinNorm::kNone) return truth;
  truth = norm_truth(stack, stack.join_weight(), truth);
  for (size_t e = 0; e < truth.row.size(); ++e) {
    truth.row[e] += x[e];
    truth.slack[e] += (std::fabs(truth.row[e]) + truth.slack[e]) * kU;
  }
  return truth;
}

void expect_near(const float* row, const Truth& truth) {
  for (size_t e = 0; e < truth.row.size(); ++e) {
    ASSERT_LE(std::fabs(row[e] - truth.row[e]), truth.slack[e]) << "element " << e;
  }
}

// Runs a Stack by a plan, with memory and threads for it.
class Runner {
 public:
  Runner(const Plan& plan, const Layout& layout)
      : stack_(plan, layout, 3),
        graph_(std::move(stack_).finish()),
        memory_(graph_),
        context_(graph_, memory_, {}),
        team_(plan.member_count()),
        scratch_(plan.member_count() * kOpScratchBytes / sizeof(Line)),
        executor_(team_, plan, scratch_of_members(plan.member_count())) {}

  // Returns the bits of every residual, of the output rows' norms and of the hidden states. With
  // `check` the reduces' results are also compared with double.
  std::vector<float> run(uint32_t rows, bool check) {
    std::vector<int32_t> tokens(rows);
    std::vector<uint32_t> outputs = {rows - 1, 0, rows / 2};
    std::vector<float> hidden(2 * width()), bits;
    StepView step;
    step.tokens = tokens;
    step.outputs = outputs;
    step.logit_rows = 1;
    step.hidden = hidden.data();
    context_.begin(step);
    uint32_t at = 0;
    for (int i = 0; i < kReduces; ++i) {
      while (graph_.nodes[at].name != "reduce" + std::to_string(i)) run_node(&at);
      run_node(&at);
      bool last = i + 1 == kReduces;
      for (uint32_t r = 0; r < (last ? outputs.size() : rows); ++r) {
        const float* row = result(i, r);
        bits.insert(bits.end(), row, row + width());
        if (check) check_row(i, last ? outputs[r] : r, r);
      }
    }
    EXPECT_EQ(0, std::memcmp(hidden.data(), result(kReduces - 1, 1), width() * sizeof(float)));
    bits.insert(bits.end(), hidden.begin(), hidden.end());
    run_node(&at);
    // Runs again, without a pause between nodes.
    hidden.assign(hidden.size(), 0.0f);
    context_.begin(step);
    executor_.run(context_);
    EXPECT_EQ(
        0, std::memcmp(hidden.data(), &*(bits.end() - 2 * width()), 2 * width() * sizeof(float)));
    return bits;
  }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };

  uint32_t width() const { return stack_.layout().width; }
  void run_node(uint32_t* at) {
    executor_.run_range(context_, *at, *at + 1);
    ++*at;
  }

  std::vector<std::byte*> scratch_of_members(uint32_t members) {
    std::vector<std::byte*> of_members;
    for (uint32_t m = 0; m < members; ++m) {
      of_members.push_back(scratch_[m * (kOpScratchBytes / sizeof(Line))].bytes);
    }
    return of_members;
  }

  // Returns a row of the residual that reduce i gives; after the last reduce, of the norm.
  const float* result(int i, uint32_t r) const {
    const Reduced& reduced = stack_.reduced(i);
    if (i + 1 == kReduces) return row_of(context_, reduced.normed.values[0], r);
    return row_of(context_, reduced.x.values[owner(context_, r)], r);
  }

  void check_row(int i, uint32_t token, uint32_t r) {
    const Truth sum = join_truth(stack_, context_, i, token);
    const Truth normed = norm_truth(stack_, stack_.weight(), sum);
    const Reduced& reduced = stack_.reduced(i);
    bool last = i + 1 == kReduces;
    bool sums = !last && stack_.layout().place == NormPlace::kBeforeBlock;
    ASSERT_NO_FATAL_FAILURE(expect_near(result(i, r), sums ? sum : normed))
        << "reduce " << i << " row " << r;
    for (ValueId copy : reduced.normed.values) {
      if (!last && stack_.layout().format != ActFormat::kF32) continue;
      ASSERT_NO_FATAL_FAILURE(expect_near(row_of(context_, copy, r), normed))
          << "reduce " << i << " row " << r;
    }
  }

  Stack stack_;
  Graph graph_;
  TestMemory memory_;
  ExecutionContext context_;
  Team team_;
  std::vector<Line> scratch_;
  Executor executor_;
};

void expect_same(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  ASSERT_EQ(0, std::memcmp(a.data(), b.data(), a.size() * sizeof(float)));
}

// Compares every plan with one group's decode plan.
void expect_the_same_of_all_plans(const Layout& layout, const std::vector<uint32_t>& row_counts) {
  uint32_t max_rows = row_counts.back();
  std::vector<std::vector<float>> expected;
  Runner first(even_plan(Phase::kDecode, max_rows, 1, 1, 2), layout);
  for (uint32_t rows : row_counts) expected.push_back(first.run(rows, true));
  for (Phase phase : {Phase::kDecode, Phase::kPrefill}) {
    for (GroupSync sync : {GroupSync::kAsync, GroupSync::kLockstep}) {
      for (uint32_t groups : {1u, 2u, 3u, 4u}) {
        Plan plan = even_plan(phase, max_rows, 1, groups, groups + 1);
        plan.sync = sync;
        Runner runner(plan, layout);
        for (size_t i = 0; i < row_counts.size(); ++i) {
          ASSERT_NO_FATAL_FAILURE(expect_same(runner.run(row_counts[i], true), expected[i]))
              << plan_text(plan) << row_counts[i] << " rows";
        }
      }
    }
  }
}

std::vector<Layout> layouts() {
  std::vector<Layout> all;
  for (NormKind kind : {NormKind::kRms, NormKind::kLayer}) {
    for (NormPlace place : {NormPlace::kBeforeBlock, NormPlace::kAfterResidual}) {
      for (ActFormat format : {ActFormat::kF32, ActFormat::kQ8}) {
        all.push_back({JoinNorm::kNone, kind, place, format, 208, 1, 5});
      }
    }
    // Norms that models have: Gemma's, and those of jina-bert-v2 for code.
    all.push_back({JoinNorm::kBehind, kind, NormPlace::kBeforeBlock, ActFormat::kF32, 208, 1, 5});
    all.push_back({JoinNorm::kBehind, kind, NormPlace::kBeforeBlock, ActFormat::kQ8, 208, 1, 5});
    all.push_back({JoinNorm::kInner, kind, NormPlace::kAfterResidual, ActFormat::kF32, 208, 1, 5});
  }
  return all;
}

TEST(ReduceTest, PlansAgreeToTheBitAndComeNearDouble) {
  for (const Layout& layout : layouts()) {
    ASSERT_NO_FATAL_FAILURE(expect_the_same_of_all_plans(layout, {1, 2, 7, 13}))
        << "join " << static_cast<int>(layout.join) << " kind " << static_cast<int>(layout.kind)
        << " place " << static_cast<int>(layout.place) << " format "
        << static_cast<int>(layout.format);
  }
}

// The kernel sums one range of columns after another, and a group's columns do not begin where a
// range does. Adding 128 pieces needs a stack 8 deep.
TEST(ReduceTest, TheWidestRowsFit) {
  const Layout deep{JoinNorm::kNone,
                    NormKind::kLayer,
                    NormPlace::kBeforeBlock,
                    ActFormat::kF32,
                    kMaxReduceWidth,
                    16,
                    8};
  const Layout flat{JoinNorm::kNone,
                    NormKind::kLayer,
                    NormPlace::kAfterResidual,
                    ActFormat::kF32,
                    kMaxReduceWidth,
                    1,
                    8};
  const Layout behind{JoinNorm::kBehind,
                      NormKind::kRms,
                      NormPlace::kBeforeBlock,
                      ActFormat::kF32,
                      kMaxReduceWidth,
                      16,
                      8};
  for (const Layout& layout : {deep, flat, behind}) {
    Runner one(even_plan(Phase::kDecode, 1, 1, 1, 1), layout);
    std::vector<float> expected = one.run(1, true);
    for (Phase phase : {Phase::kDecode, Phase::kPrefill}) {
      Runner runner(even_plan(phase, 1, 1, 3, 3), layout);
      ASSERT_NO_FATAL_FAILURE(expect_same(runner.run(1, false), expected));
    }
  }
}

}  // namespace
}  // namespace hearth
