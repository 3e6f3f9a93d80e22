// Tests the work that ops report for a step: the parts of all groups sum up to the whole, for all
// cuts and groups.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "graph/ops/attention.h"
#include "graph/ops/linear.h"
#include "graph/ops/rows.h"
#include "graph/step_view.h"

namespace hearth {
namespace {

constexpr uint32_t kMaxRows = 300;

struct Case {
  DType dtype;
  ArithmeticUnit unit;
};
// The arithmetic units at the reference level, which has no BF16 dot.
constexpr Case kCases[] = {
    {DType::kF32, ArithmeticUnit::kF32Fma},   {DType::kF16, ArithmeticUnit::kF32Fma},
    {DType::kBF16, ArithmeticUnit::kF32Fma},  {DType::kQ8_0, ArithmeticUnit::kInt8Dot},
    {DType::kQ4_0, ArithmeticUnit::kInt8Dot}, {DType::kQ4_K, ArithmeticUnit::kInt8Dot},
    {DType::kQ6_K, ArithmeticUnit::kInt8Dot}, {DType::kQ3_K, ArithmeticUnit::kInt8Dot}};

std::vector<Plan> plans() {
  std::vector<Plan> all;
  for (uint32_t shards : {1u, 2u, 3u}) {
    for (uint32_t parts : {1u, 2u, 3u}) {
      all.push_back(even_plan(Phase::kPrefill, kMaxRows, shards, shards * parts, shards * parts));
    }
  }
  all.push_back(even_plan(Phase::kPrefill, kMaxRows, 2, 1, 2));
  return all;
}

AxisCuts cut(uint32_t units, const Plan& plan) {
  return AxisCuts(units, 1, std::vector<uint32_t>(plan.shard_count(), 1));
}

uint64_t packed_bytes(const Weight& weight) {
  uint64_t bytes = 0;
  for (const Shard& shard : weight.shards) {
    bytes += shard.spec.codes_bytes() + shard.spec.scales_bytes();
  }
  return bytes;
}

// Returns the work of a product with the whole weight.
OpWork product(const Weight& weight, uint32_t rows, ArithmeticUnit unit) {
  OpWork work;
  work.bytes = packed_bytes(weight);
  work.of(unit) = uint64_t{2} * rows * weight.rows * weight.k;
  return work;
}

// Asks for a graph's work in a step that is not run, so nothing needs memory.
class Asked {
 public:
  explicit Asked(Graph graph, KvType type = KvType::kF32) : graph_(std::move(graph)), type_(type) {}

  // Returns the load of each instance of the nodes of that name.
  std::vector<OpLoad> loads(const std::vector<StepItem>& items, uint32_t outputs,
                            const std::string& name) const {
    uint32_t rows = 0;
    for (const StepItem& item : items) rows += item.rows;
    StepSizes step{.graph = graph_,
                   .items = items,
                   .rows = rows,
                   .outputs = outputs,
                   .logit_rows = outputs,
                   .kv_type = type_,
                   .units = units_of(graph_.kernels.limits)};
    std::vector<OpLoad> all;
    for (const GraphNode& node : graph_.nodes) {
      if (node.name != name) continue;
      for (const auto& op : node.instances) all.push_back(op->load(step));
    }
    return all;
  }
  std::vector<OpLoad> loads(uint32_t rows, const std::string& name) const {
    return loads({{0, rows, 0, nullptr}}, rows, name);
  }
  OpWork work(const std::vector<StepItem>& items, uint32_t outputs, const std::string& name) const {
    OpWork sum;
    for (const OpLoad& load : loads(items, outputs, name)) sum += load.total();
    return sum;
  }
  OpWork work(uint32_t rows, const std::string& name) const {
    return work({{0, rows, 0, nullptr}}, rows, name);
  }

 private:
  Graph graph_;
  KvType type_;
};

Bundle input(GraphBuilder& builder, uint32_t width, RowSet rows = RowSet::kTokens) {
  Bundle x = builder.add_values(rows, std::vector<uint32_t>(builder.group_count(), width));
  builder.writes(x);
  return x;
}

// Q, K and V of one input, 32 wide, and attention over them.
Asked ask_attention(const Plan& plan, const std::vector<LinearMatrix>& parts, const Weight& output,
                    const AttentionShape& shape, KvType type) {
  GraphBuilder builder(plan, kernels_for(Isa::kReference), kMaxRows, 2);
  LinearOut qkv = linear(builder, "qkv", input(builder, 32), parts);
  const Bundle kv = rope_and_store(builder, "store", qkv, {}, shape);
  attention(builder, "attention", qkv, kv, shape, output);
  return Asked(std::move(builder).finish(), type);
}

// Boundaries between groups lie inside panels, and the last panel is not full.
TEST(Work, RowCutWeights) {
  for (const Case& c : kCases) {
    for (const Plan& plan : plans()) {
      AxisCuts cuts = cut(19, plan);
      Weight a = cut_weight("a", c.dtype, 19 * 24 - 5, 512, CutBy::kRows, cuts, 24);
      Weight b = cut_weight("b", c.dtype, 19 * 8, 512, CutBy::kRows, cuts, 8);
      GraphBuilder builder(plan, kernels_for(Isa::kReference), kMaxRows);
      linear(builder, "linear", input(builder, 512), {{&a, nullptr}, {&b, nullptr}});
      Asked asked(std::move(builder).finish());
      for (uint32_t rows : {1u, 3u, kMaxRows}) {
        OpWork whole = product(a, rows, c.unit);
        whole += product(b, rows, c.unit);
        EXPECT_EQ(asked.work(rows, "linear"), whole) << plan_text(plan);
      }
    }
  }
}

// Super-blocks of 256 lie across the boundaries.
TEST(Work, GatedAndColumnCutWeights) {
  for (const Case& c : kCases) {
    for (const Plan& plan : plans()) {
      AxisCuts cuts = cut(24, plan);
      Weight gate = cut_weight("gate", c.dtype, 768, 256, CutBy::kRows, cuts, 32);
      Weight up = cut_weight("up", c.dtype, 768, 256, CutBy::kRows, cuts, 32);
      Weight down = cut_weight("down", c.dtype, 250, 768, CutBy::kColumns, cuts, 32);
      GraphBuilder builder(plan, kernels_for(Isa::kReference), kMaxRows);
      Bundle hidden = gated_linear(builder, "gated", input(builder, 256), {&gate}, {&up}, down,
                                   Activation::kSilu);
      partial_linear(builder, "partial", hidden, down);
      Asked asked(std::move(builder).finish());
      for (uint32_t rows : {1u, kMaxRows}) {
        OpWork whole = product(gate, rows, c.unit);
        whole += product(up, rows, c.unit);
        EXPECT_EQ(asked.work(rows, "gated"), whole) << plan_text(plan);
        EXPECT_EQ(asked.work(rows, "partial"), product(down, rows, c.unit)) << plan_text(plan);
      }
    }
  }
}

// A shard's bytes are read once, by any of the groups. The bytes in the source do not depend on the
// cut.
TEST(Work, EveryShardIsReadOnce) {
  for (const Case& c : kCases) {
    for (const Plan& plan : plans()) {
      AxisCuts cuts = cut(24, plan);
      Weight up = cut_weight("up", c.dtype, 768, 256, CutBy::kRows, cuts, 32);
      Weight down = cut_weight("down", c.dtype, 250, 768, CutBy::kColumns, cuts, 32);
      GraphBuilder builder(plan, kernels_for(Isa::kReference), kMaxRows);
      linear(builder, "linear", input(builder, 256), {{&up, nullptr}});
      partial_linear(builder, "partial",
                     gated_linear(builder, "gated", input(builder, 256), {&up}, {&up}, down,
                                  Activation::kSilu),
                     down);
      Asked asked(std::move(builder).finish());
      for (auto [name, weight] : {std::pair{"linear", &up}, std::pair{"partial", &down}}) {
        std::vector<uint64_t> bytes(plan.shard_count());
        uint64_t source_bytes = 0;
        for (const OpLoad& load : asked.loads(3, name)) {
          for (const OpLoad::Reads& reads : load.reads) bytes[reads.shard] += reads.weights;
          source_bytes += load.source_bytes;
        }
        for (uint32_t s = 0; s < plan.shard_count(); ++s) {
          const PackSpec& spec = weight->shards[s].spec;
          EXPECT_EQ(bytes[s], spec.codes_bytes() + spec.scales_bytes()) << plan_text(plan);
        }
        EXPECT_EQ(source_bytes, row_bytes(c.dtype, weight->k) * weight->rows) << plan_text(plan);
      }
    }
  }
}

// Every group looks up every token, in panels that may lie on any shard. These bytes are not work
// of the groups.
TEST(Work, TheTableIsReadByPanels) {
  for (const Plan& plan : plans()) {
    AxisCuts cuts = cut(12, plan);
    Weight table = cut_weight("table", DType::kF16, 12 * 16, 64, CutBy::kRows, cuts, 16);
    GraphBuilder builder(plan, kernels_for(Isa::kReference), kMaxRows);
    embed(builder, {&table});
    Asked asked(std::move(builder).finish());
    EXPECT_EQ(asked.work(6, "embed"), OpWork{});
    uint64_t source_bytes = 0;
    for (const OpLoad& load : asked.loads(6, "embed")) {
      uint64_t bytes = 0;
      for (const OpLoad::Reads& reads : load.reads) bytes += reads.table;
      EXPECT_EQ(bytes, 6u * 16 * 64 * 2) << plan_text(plan);
      source_bytes += load.source_bytes;
    }
    EXPECT_NEAR(static_cast<double>(source_bytes), 6.0 * 64 * 2, plan.group_count())
        << "each group counts a whole number of bytes";
  }
}

// Items share positions, so a row of the position table is read once: rows 20 to 40 lie in two
// panels.
TEST(Work, PositionsAreReadOnce) {
  for (const Plan& plan : plans()) {
    AxisCuts cuts = cut(12, plan), position_cuts = cut(6, plan);
    Weight table = cut_weight("table", DType::kF16, 12 * 16, 64, CutBy::kRows, cuts, 16);
    Weight positions =
        cut_weight("positions", DType::kF32, 6 * 16, 64, CutBy::kRows, position_cuts, 16);
    GraphBuilder builder(plan, kernels_for(Isa::kReference), kMaxRows);
    embed(builder, {&table, &positions, nullptr});
    Asked asked(std::move(builder).finish());
    double source_bytes = 0;
    for (const OpLoad& load : asked.loads({{0, 5, 20, nullptr}, {5, 9, 32, nullptr}}, 0, "embed")) {
      uint64_t bytes = 0;
      for (const OpLoad::Reads& reads : load.reads) bytes += reads.table;
      EXPECT_NEAR(static_cast<double>(bytes), 14 * 16 * 64 * 2 + 2 * 16 * 64 * 4,
                  2 * plan.shard_count())
          << "each shard counts a whole number of bytes";
      source_bytes += load.source_bytes;
    }
    EXPECT_NEAR(source_bytes, 14.0 * 64 * 2 + 21 * 64 * 4, 1e-6 * source_bytes);
    EXPECT_EQ(asked.work(0, "embed"), OpWork{});
  }
}

// A feed-forward layer without a gate has one weight's work; biases and activations count nothing.
TEST(Work, WithoutAGate) {
  for (const Case& c : kCases) {
    for (const Plan& plan : plans()) {
      AxisCuts cuts = cut(24, plan);
      Weight up = cut_weight("up", c.dtype, 768, 256, CutBy::kRows, cuts, 32);
      Weight down = cut_weight("down", c.dtype, 250, 768, CutBy::kColumns, cuts, 32);
      const VectorWeight bias{768, {}};
      GraphBuilder builder(plan, kernels_for(Isa::kReference), kMaxRows);
      gelu_linear(builder, "ffn", input(builder, 256), {&up, &bias}, down);
      Asked asked(std::move(builder).finish());
      for (uint32_t rows : {1u, kMaxRows}) {
        EXPECT_EQ(asked.work(rows, "ffn"), product(up, rows, c.unit)) << plan_text(plan);
      }
    }
  }
}

TEST(Work, PartsOfDifferentTypesCountApart) {
  Plan plan = even_plan(Phase::kDecode, kMaxRows, 1, 1, 1);
  AxisCuts cuts = cut(4, plan);
  Weight a = cut_weight("a", DType::kQ4_0, 64, 64, CutBy::kRows, cuts, 16);
  Weight b = cut_weight("b", DType::kF32, 32, 64, CutBy::kRows, cuts, 8);
  GraphBuilder builder(plan, kernels_for(Isa::kReference), kMaxRows);
  linear(builder, "linear", input(builder, 64), {{&a, nullptr}, {&b, nullptr}});
  OpWork work = Asked(std::move(builder).finish()).work(5, "linear");
  EXPECT_EQ(work.of(ArithmeticUnit::kInt8Dot), 2u * 5 * 64 * 64);
  EXPECT_EQ(work.of(ArithmeticUnit::kF32Fma), 2u * 5 * 32 * 64);
  EXPECT_EQ(work.of(ArithmeticUnit::kBf16Dot), 0u);
  // Q4_0: half a byte and 2 / 32 of a scale an element.
  EXPECT_EQ(work.bytes, 64u * 64 / 2 + 64 * 64 / 16 + 32 * 64 * 4);
}

TEST(Work, LogitsOfWantedRowsOnly) {
  for (const Plan& plan : plans()) {
    AxisCuts cuts = cut(11, plan);
    Weight head = cut_weight("head", DType::kQ8_0, 11 * 16 - 3, 64, CutBy::kRows, cuts, 16);
    GraphBuilder builder(plan, kernels_for(Isa::kReference), kMaxRows);
    logits(builder, input(builder, 64, RowSet::kOutputs), head);
    Asked asked(std::move(builder).finish());
    EXPECT_EQ(asked.work({{0, 40, 0, nullptr}}, 3, "logits"),
              product(head, 3, ArithmeticUnit::kInt8Dot));
    EXPECT_EQ(asked.work({{0, 40, 0, nullptr}}, 0, "logits"), OpWork{});
  }
}

// 3 KV heads of 4 query heads each are cut between two shards, through the middle KV head. Each
// shard computes, reads and counts the head that they share.
TEST(Work, SharedKvHeadsCountOnEveryShard) {
  constexpr uint32_t kHeads = 12, kKvHeads = 3, kDim = 16, kRows = 7;
  Plan plan = even_plan(Phase::kDecode, kMaxRows, 2, 2, 2);
  AxisCuts cuts(kHeads / 2, 1, std::vector<uint32_t>{1, 1}, 2);
  AxisCuts kv_cuts = cuts.widened(2);
  Weight q = cut_weight("q", DType::kF32, kHeads * kDim, 32, CutBy::kRows, cuts, 2 * kDim);
  Weight k = cut_weight("k", DType::kF32, kKvHeads * kDim, 32, CutBy::kRows, kv_cuts, kDim);
  Weight v = cut_weight("v", DType::kF32, kKvHeads * kDim, 32, CutBy::kRows, kv_cuts, kDim);
  Weight o = cut_weight("o", DType::kF32, 32, kHeads * kDim, CutBy::kColumns, cuts, 2 * kDim);
  AttentionShape shape{0, kKvHeads,          4, kDim,  kDim,    1,      0,
                       1, RopeLayout::kHalf, 0, 1e-5f, nullptr, nullptr};
  Asked asked = ask_attention(plan, {{&q}, {&k}, {&v}}, o, shape, KvType::kF32);
  // Four heads are read, since both shards hold the middle one.
  constexpr uint32_t kCopies = 4;
  OpWork projections = asked.work(kRows, "qkv");
  EXPECT_EQ(projections.of(ArithmeticUnit::kF32Fma),
            2u * kRows * (kHeads + 2 * kCopies) * kDim * 32);
  EXPECT_EQ(projections.bytes, (kHeads + 2 * kCopies) * kDim * 32 * sizeof(float));
  OpWork attended = asked.work({{0, 1, 9, nullptr}}, 0, "attention");
  EXPECT_EQ(attended.of(ArithmeticUnit::kF32Fma), uint64_t{kHeads} * 10 * 4 * kDim);
  EXPECT_EQ(attended.bytes, uint64_t{kCopies} * 10 * 2 * kDim * sizeof(float));
}

// Counts the work pair by pair and position by position.
OpWork attended(const std::vector<StepItem>& items, uint32_t heads, const AttentionShape& shape,
                size_t position_bytes, ArithmeticUnit unit) {
  OpWork work;
  for (const StepItem& item : items) {
    uint32_t end = item.first_position + item.rows;
    for (uint32_t p = 0; p < end; ++p) {
      bool seen = false;
      for (uint32_t q = std::max(p, item.first_position); q < end; ++q) {
        if (shape.window != 0 && q - p >= shape.window) continue;
        seen = true;
        const uint64_t elements = uint64_t{shape.key_length} + shape.value_length;
        work.of(unit) += 2 * elements * heads * shape.group_size;
      }
      if (seen) work.bytes += heads * position_bytes;
    }
  }
  return work;
}

// Keys and values have different lengths.
TEST(Work, AttentionCountsVisiblePairs) {
  constexpr uint32_t kHeads = 6, kKey = 16, kValue = 48, kGroup = 2;
  constexpr uint32_t kQueries = kHeads * kGroup;
  std::vector<std::vector<StepItem>> steps = {{{0, 1, 0, nullptr}},
                                              {{0, 1, 99, nullptr}},
                                              {{0, 70, 0, nullptr}},
                                              {{0, 7, 3, nullptr}, {7, 1, 250, nullptr}},
                                              {{0, 40, 60, nullptr}, {40, 5, 5, nullptr}}};
  for (const Plan& plan : plans()) {
    AxisCuts cuts = cut(kHeads, plan);
    Weight q = cut_weight("q", DType::kF32, kQueries * kKey, 32, CutBy::kRows, cuts, kGroup * kKey);
    Weight k = cut_weight("k", DType::kF32, kHeads * kKey, 32, CutBy::kRows, cuts, kKey);
    Weight v = cut_weight("v", DType::kF32, kHeads * kValue, 32, CutBy::kRows, cuts, kValue);
    Weight o =
        cut_weight("o", DType::kF32, 32, kQueries * kValue, CutBy::kColumns, cuts, kGroup * kValue);
    for (uint32_t window : {0u, 1u, 4u, 50u, 64u, 1000u}) {
      AttentionShape shape{0, kHeads, kGroup,  kKey,   kValue, 1, window, 1, RopeLayout::kHalf,
                           0, 1e-5f,  nullptr, nullptr};
      Asked asked = ask_attention(plan, {{&q}, {&k}, {&v}}, o, shape, KvType::kQ8_0);
      for (const std::vector<StepItem>& items : steps) {
        // An element of q8_0 takes a byte, and each block of 32 elements has an f16 scale. A key of
        // 16 elements has one block, a value of 48 has two.
        EXPECT_EQ(asked.work(items, 0, "attention"),
                  attended(items, kHeads, shape, kKey + 2 + kValue + 4, ArithmeticUnit::kInt16Dot))
            << window << " " << items[0].rows << plan_text(plan);
      }
    }
  }
}

}  // namespace
}  // namespace hearth
