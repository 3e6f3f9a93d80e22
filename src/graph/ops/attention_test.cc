// Tests attention in a graph, from the rows of Q, K and V to the rows that the output projection
// reads. Every way of keeping keys and values, cut over shards, groups and threads, is compared
// with the definition in double.
#include "graph/ops/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>

#include "graph/context.h"
#include "graph/executor.h"
#include "graph/test_memory.h"

namespace hearth {
namespace {

constexpr uint32_t kMaxRows = 1400, kMaxItems = 4;

// [rows][columns]
struct Matrix {
  Matrix(uint32_t rows, uint32_t columns_) : columns(columns_), x(size_t{rows} * columns_) {}
  uint32_t columns;
  std::vector<float> x;
  float* row(uint32_t r) { return x.data() + size_t{r} * columns; }
  const float* row(uint32_t r) const { return x.data() + size_t{r} * columns; }
};

Matrix random_matrix(uint32_t rows, uint32_t columns, uint32_t seed) {
  std::mt19937 random(seed);
  Matrix m(rows, columns);
  for (float& f : m.x) f = static_cast<float>(random() >> 8) * 0x1p-22f - 2.0f;
  return m;
}

// CopyOp copies columns of matrices into a value or, with `out`, of a value into matrices.
struct Stretch {
  Matrix* matrix;
  uint32_t from, count;  // columns of the matrix
  uint32_t column;       // of the value
};
class CopyOp : public Op {
 public:
  CopyOp(ValueId value, std::vector<Stretch> stretches, bool out)
      : value_(value), stretches_(std::move(stretches)), out_(out) {}
  void run(ExecutionContext& context, const OpSync&, const Worker& worker) const noexcept override {
    for (uint32_t r = worker.index; r < context.step().rows(); r += worker.count) {
      float* row = context.f32(value_) + r * context.f32_stride(value_);
      for (const Stretch& s : stretches_) {
        float *a = row + s.column, *b = s.matrix->row(r) + s.from;
        std::copy_n(out_ ? a : b, s.count, out_ ? b : a);
      }
    }
  }

 private:
  ValueId value_;
  std::vector<Stretch> stretches_;
  bool out_;
};

// A model that has only attention: layers over the same Q, K and V, whose shapes differ.
struct Layer {
  AttentionShape shape;
  Matrix q, k, v, out;

  Layer(const AttentionShape& shape_, uint32_t seed, uint32_t rows = kMaxRows)
      : shape(shape_),
        q(random_matrix(rows, heads() * shape.key_length, seed)),
        k(random_matrix(rows, shape.kv_heads * shape.key_length, seed + 1)),
        v(random_matrix(rows, shape.kv_heads * shape.value_length, seed + 2)),
        out(rows, heads() * shape.value_length) {}
  uint32_t heads() const { return shape.kv_heads * shape.group_size; }
};

class AttentionGraph {
 public:
  AttentionGraph(const Plan& plan, std::vector<Layer>* layers, KvType type,
                 const AttendSchedule& attend = {})
      : schedules_{{}, attend},
        builder_(plan, kernels_for(available_isas(detect_cpu_features()).back()), kMaxRows,
                 kMaxItems),
        team_(plan.member_count()) {
    builder_.set_schedules(schedules_);
    std::vector<KvLayer> kept;
    for (Layer& layer : *layers) kept.push_back(append(plan, &layer));
    graph = std::move(builder_).finish();
    memory_ = std::make_unique<TestMemory>(graph);
    KvView kv(type, kMaxRows / kPagePositions + kMaxItems, plan.shard_count(), kept);
    for (uint32_t s = 0; s < plan.shard_count(); ++s) {
      caches_.emplace_back(kv.shard_bytes(s) / sizeof(Line) + 1);
      kv.set_base(s, caches_.back()[0].bytes);
    }
    context_ = std::make_unique<ExecutionContext>(graph, *memory_, kv);
    scratch_.resize(plan.member_count() * (kOpScratchBytes / sizeof(Line)));
    std::vector<std::byte*> bases;
    for (size_t m = 0; m < plan.member_count(); ++m) {
      bases.push_back(scratch_[m * (kOpScratchBytes / sizeof(Line))].bytes);
    }
    executor_ = std::make_unique<Executor>(team_, plan, bases);
    for (uint32_t i = kv.page_count(); i-- > 0;) page_ids_.push_back(i);
  }

  // Runs a step of items with these numbers of rows, each from `first_position` on.
  void run(const std::vector<uint32_t>& rows, uint32_t first_position = 0) {
    std::vector<uint32_t> positions, row_items;
    uint32_t page = 0;
    items_.clear();
    for (uint32_t n : rows) {
      items_.push_back(
          {static_cast<uint32_t>(positions.size()), n, first_position, page_ids_.data() + page});
      page += pages_for(n);
      for (uint32_t p = 0; p < n; ++p) {
        positions.push_back(first_position + p);
        row_items.push_back(static_cast<uint32_t>(items_.size()) - 1);
      }
    }
    std::vector<int32_t> tokens(positions.size());
    StepView step;
    step.tokens = tokens;
    step.positions = positions;
    step.row_items = row_items;
    step.items = items_;
    context_->begin(step);
    executor_->run(*context_);
  }

  // Returns the work of each layer's attention in the last run, over all groups.
  std::vector<OpWork> work() const {
    std::vector<OpWork> all;
    for (const GraphNode& node : graph.nodes) {
      if (node.name != "attention") continue;
      OpWork& sum = all.emplace_back();
      for (const auto& op : node.instances) sum += op->load(context_->sizes()).total();
    }
    return all;
  }

  Graph graph;

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };

  // Appends a layer: Q, K and V are copied in, stored and attended to; results are copied out.
  KvLayer append(const Plan& plan, Layer* layer) {
    const AttentionShape& s = layer->shape;
    const std::vector<uint32_t> shares(plan.shard_count(), 1);
    const uint32_t group = s.group_size;
    AxisCuts& cuts = *axes_.emplace_back(std::make_unique<AxisCuts>(s.kv_heads, s.granule, shares));
    auto rows = [&](uint32_t unit) {
      return cut_weight("w", DType::kF32, s.kv_heads * unit, 32, CutBy::kRows, cuts, unit);
    };
    const Weight parts[] = {rows(group * s.key_length), rows(s.key_length), rows(s.value_length)};
    const uint32_t out_unit = group * s.value_length;
    const Weight& output = *weights_.emplace_back(std::make_unique<Weight>(
        cut_weight("o", DType::kF32, 32, s.kv_heads * out_unit, CutBy::kColumns, cuts, out_unit)));
    LinearOut qkv = copy_in(plan, parts, {&layer->q, &layer->k, &layer->v});
    Bundle kv = rope_and_store(builder_, "store", qkv, {}, s);
    Bundle out = attention(builder_, "attention", qkv, kv, s, output);
    copy_out(plan, out, output, &layer->out);
    KvLayer kept{s.key_length, s.value_length, {}};
    for (uint32_t shard = 0; shard < plan.shard_count(); ++shard) {
      kept.heads.push_back(s.kept == KvKept::kCached ? cuts.shard(shard).size() : 0);
    }
    return kept;
  }

  LinearOut copy_in(const Plan& plan, const Weight (&parts)[3], std::vector<Matrix*> from) {
    LinearOut qkv;
    qkv.slices.resize(3);
    std::vector<uint32_t> widths;
    std::vector<std::vector<Stretch>> stretches(plan.group_count());
    for (uint32_t g = 0; g < plan.group_count(); ++g) {
      uint32_t column = 0;
      for (uint32_t p = 0; p < 3; ++p) {
        qkv.slices[p].push_back(row_slices(parts[p], plan.groups[g].share, &column));
        for (const RowSlice& slice : qkv.slices[p].back()) {
          stretches[g].push_back({from[p], slice.row, slice.rows, slice.column + slice.lead});
        }
      }
      widths.push_back(column);
    }
    qkv.bundle = builder_.add_values(RowSet::kTokens, widths);
    builder_.writes(qkv.bundle);
    append_copies(qkv.bundle, stretches, false);
    return qkv;
  }

  void copy_out(const Plan& plan, const Bundle& out, const Weight& output, Matrix* to) {
    std::vector<std::vector<Stretch>> stretches(plan.group_count());
    for (uint32_t g = 0; g < plan.group_count(); ++g) {
      for (const ColumnSlice& slice :
           column_slices(*output.cuts, output.unit, output.k, plan.groups[g].share)) {
        stretches[g].push_back({to, slice.element, slice.elements, slice.column});
      }
    }
    builder_.reads(out, ActFormat::kF32);
    append_copies(out, stretches, true);
  }

  void append_copies(const Bundle& values, const std::vector<std::vector<Stretch>>& stretches,
                     bool out) {
    std::vector<std::unique_ptr<Op>> ops;
    for (size_t g = 0; g < values.values.size(); ++g) {
      ops.push_back(std::make_unique<CopyOp>(values.values[g], stretches[g], out));
    }
    builder_.append(Mode::kParallel, "copy", std::move(ops));
  }

  const ScheduleTable schedules_;
  GraphBuilder builder_;
  std::vector<std::unique_ptr<AxisCuts>> axes_;
  std::vector<std::unique_ptr<Weight>> weights_;
  Team team_;
  std::unique_ptr<TestMemory> memory_;
  std::vector<std::vector<Line>> caches_;
  std::vector<Line> scratch_;
  std::unique_ptr<ExecutionContext> context_;
  std::unique_ptr<Executor> executor_;
  std::vector<uint32_t> page_ids_;
  std::vector<StepItem> items_;
};

// Returns a shape of 4 KV heads with 2 query heads each.
AttentionShape shape_of(uint32_t layer, uint32_t key_length, uint32_t value_length,
                        KvKept kept = KvKept::kCached, Mask mask = Mask::kCausal) {
  AttentionShape shape{};
  shape.layer = layer;
  shape.kv_heads = 4;
  shape.group_size = 2;
  shape.key_length = key_length;
  shape.value_length = value_length;
  shape.granule = 1;
  while (shape.granule * 2 * value_length % 32 != 0) shape.granule *= 2;
  shape.scale = 1.0f / std::sqrt(static_cast<float>(key_length));
  shape.kept = kept;
  shape.mask = mask;
  return shape;
}

// Returns sinks for 8 query heads, a copy for every shard: large, negligible and between.
const VectorWeight& sinks_of_heads() {
  static const float kSinks[] = {0.5f, 40.0f, -40.0f, 3.0f, -3.0f, 12.0f, 0.0f, 6.0f};
  static const VectorWeight sinks{8, {kSinks, kSinks, kSinks, kSinks}};
  return sinks;
}

// The rows [begin, end) that row `row` sees, of an item that begins at row `first`.
struct RowRange {
  uint32_t begin, end;
};
RowRange seen_by(const AttentionShape& shape, uint32_t first, uint32_t rows, uint32_t row) {
  if (shape.mask == Mask::kBidirectional) return {first, first + rows};
  const bool all = shape.window == 0 || shape.window > row;
  return {all ? first : first + row + 1 - shape.window, first + row + 1};
}

// Returns the result of a query head for one row, by attention's definition in double.
std::vector<double> truth(const Layer& layer, RowRange seen, uint32_t row, uint32_t head) {
  const AttentionShape& s = layer.shape;
  const uint32_t kv = head / s.group_size;
  std::vector<double> weights, out(s.value_length);
  double most = -1e300, total = 0;
  for (uint32_t j = seen.begin; j < seen.end; ++j) {
    double score = 0;
    for (uint32_t d = 0; d < s.key_length; ++d) {
      score += 1.0 * layer.q.row(row)[head * s.key_length + d] * s.scale *
               layer.k.row(j)[kv * s.key_length + d];
    }
    if (!s.slopes.empty()) score -= 1.0 * s.slopes[head] * (j < row ? row - j : j - row);
    weights.push_back(score);
    most = std::max(most, score);
  }
  if (s.sinks != nullptr) {
    const double sink = s.sinks->copies[0][head];
    most = std::max(most, sink);
    total = std::exp(sink - most);
  }
  for (double& w : weights) total += w = std::exp(w - most);
  for (uint32_t d = 0; d < s.value_length; ++d) {
    for (uint32_t j = seen.begin; j < seen.end; ++j) {
      out[d] += weights[j - seen.begin] / total * layer.v.row(j)[kv * s.value_length + d];
    }
  }
  return out;
}

// Expects the results in double within f32's errors: 1e-5 for scores of some tens, values below 2.
void expect_true(const Layer& layer, const std::vector<uint32_t>& items) {
  uint32_t first = 0;
  for (uint32_t rows : items) {
    for (uint32_t row = 0; row < rows; row += row % 5 == 0 ? 1 : 6) {
      for (uint32_t head = 0; head < layer.heads(); ++head) {
        const std::vector<double> expected =
            truth(layer, seen_by(layer.shape, first, rows, row), first + row, head);
        const float* got = layer.out.row(first + row) + head * layer.shape.value_length;
        for (uint32_t d = 0; d < expected.size(); ++d) {
          ASSERT_NEAR(got[d], expected[d], 1e-4) << "row " << first + row << " head " << head;
        }
      }
    }
    first += rows;
  }
}

const std::vector<std::vector<uint32_t>> kSteps = {{1}, {64, 65, 1, 100}, {300}, {3, 3, 3, 3}};

void expect_true_everywhere(const std::vector<AttentionShape>& shapes) {
  std::vector<Layer> first;
  for (const AttentionShape& s : shapes) first.emplace_back(s, 10 * s.layer);
  for (const std::vector<uint32_t>& step : kSteps) {
    std::vector<Layer> expected;
    for (auto [shards, groups, members] :
         {std::tuple{1u, 1u, 1u}, {1u, 1u, 3u}, {2u, 1u, 2u}, {2u, 2u, 4u}, {2u, 4u, 4u}}) {
      SCOPED_TRACE(testing::Message() << shards << " shards, " << groups << " groups");
      std::vector<Layer> layers = first;
      AttentionGraph graph(even_plan(Phase::kPrefill, kMaxRows, shards, groups, members), &layers,
                           KvType::kF32);
      // Runs another step first: data that a run leaves in memory must not change the next.
      graph.run({40, 30, 1, 70});
      graph.run(step);
      if (expected.empty()) {
        for (const Layer& layer : layers) expect_true(layer, step);
        expected = layers;
      }
      for (size_t l = 0; l < layers.size(); ++l) {
        EXPECT_EQ(layers[l].out.x, expected[l].out.x) << "layer " << l;
      }
    }
  }
}

TEST(Attention, LayersWithLengthsOfTheirOwn) {
  AttentionShape window = shape_of(2, 80, 96);
  window.window = 70;
  expect_true_everywhere({shape_of(0, 192, 128), shape_of(1, 24, 40), window, shape_of(3, 16, 8)});
}

TEST(Attention, KeysAndValuesOfTheStep) {
  AttentionShape window = shape_of(2, 16, 16, KvKept::kForStep);
  window.window = 70;
  expect_true_everywhere({shape_of(0, 64, 64, KvKept::kForStep, Mask::kBidirectional),
                          shape_of(1, 24, 40, KvKept::kForStep), window,
                          shape_of(3, 40, 8, KvKept::kForStep, Mask::kBidirectional)});
}

// Every query head has its own slope, on whichever shard it is.
TEST(Attention, SlopesOfTheHeads) {
  AttentionShape text = shape_of(0, 64, 64, KvKept::kForStep, Mask::kBidirectional);
  AttentionShape window = shape_of(1, 24, 40);
  window.window = 70;
  AttentionShape cached = shape_of(2, 16, 16);
  for (AttentionShape* shape : {&text, &window, &cached}) shape->slopes = alibi_slopes(8, 8);
  expect_true_everywhere({text, window, cached});
}

// Every query head has its own sink, on whichever shard it is.
TEST(Attention, SinksOfTheHeads) {
  AttentionShape window = shape_of(0, 24, 40), all = shape_of(1, 16, 16);
  window.window = 70;
  AttentionShape text = shape_of(2, 64, 64, KvKept::kForStep, Mask::kBidirectional);
  for (AttentionShape* shape : {&window, &all, &text}) shape->sinks = &sinks_of_heads();
  expect_true_everywhere({window, all, text, shape_of(3, 16, 16)});
}

// The paper's slopes of 8 and 16 heads, and of 12, which is no power of 2.
TEST(Attention, AlibiSlopes) {
  const std::vector<float> eight = alibi_slopes(8, 8), sixteen = alibi_slopes(16, 8);
  const std::vector<float> twelve = alibi_slopes(12, 8);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(eight[i], std::ldexp(1.0f, -1 - i));
  EXPECT_FLOAT_EQ(sixteen[0], 0.70710678f);
  EXPECT_EQ(sixteen[15], 0x1p-8f);
  EXPECT_EQ(twelve[7], 0x1p-8f);
  for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(twelve[8 + i], sixteen[2 * i]);
  EXPECT_EQ(alibi_slopes(1, 4), std::vector<float>{0x1p-4f});
}

// Rows whose keys and values are kept only for the step see their item, at any first position.
TEST(Attention, ItemsOfTheStepSeeThemselves) {
  for (Mask mask : {Mask::kCausal, Mask::kBidirectional}) {
    std::vector<Layer> layers = {{shape_of(0, 32, 16, KvKept::kForStep, mask), 3}};
    AttentionGraph graph(even_plan(Phase::kPrefill, kMaxRows, 1, 1, 2), &layers, KvType::kF16);
    graph.run({50, 65}, 77);
    expect_true(layers[0], {50, 65});
  }
}

TEST(Attention, CachedAndOfTheStepInOneGraph) {
  expect_true_everywhere({shape_of(0, 32, 16), shape_of(1, 16, 32, KvKept::kForStep),
                          shape_of(2, 48, 16, KvKept::kCached, Mask::kBidirectional)});
}

// If a token has few heads, threads share its spans. No AttendSchedule changes a bit of results.
TEST(Attention, SpansSharedByThreads) {
  constexpr uint32_t kLast = 1309;
  const AttendSchedule all[] = {{}, {1, 1}, {4, 2}, {1, 8}, {4, AttendSchedule::kMaxTasks}};
  for (KvType type : {KvType::kF32, KvType::kQ8_0}) {
    std::vector<std::vector<float>> expected;
    for (const AttendSchedule& schedule : all) {
      std::vector<Layer> layers = {
          {shape_of(0, 80, 40), 1}, {shape_of(1, 24, 96), 2}, {shape_of(2, 32, 48), 3}};
      layers[1].shape.slopes = alibi_slopes(8, 8);
      layers[2].shape.sinks = &sinks_of_heads();
      AttentionGraph graph(even_plan(Phase::kDecode, kMaxRows, 1, 1, 3), &layers, type, schedule);
      auto results = [&](uint32_t row) {
        std::vector<std::vector<float>> of;
        for (Layer& layer : layers) of.emplace_back(layer.out.row(row), layer.out.row(row + 1));
        return of;
      };
      graph.run({kLast + 1});
      if (expected.empty()) expected = results(kLast);
      EXPECT_EQ(results(kLast), expected);
      for (Layer& l : layers) {
        for (Matrix* m : {&l.q, &l.k, &l.v}) std::copy_n(m->row(kLast), m->columns, m->row(0));
      }
      graph.run({1}, kLast);
      EXPECT_EQ(results(0), expected) << kv_type_name(type);
    }
  }
}

// Layers without a cache share their pages' memory, and layers with a cache take none of it.
TEST(Attention, PagesOfTheStepLiveAsLongAsTheirLayer) {
  const Plan plan = even_plan(Phase::kPrefill, kMaxRows, 1, 1, 1);
  auto bytes = [&](uint32_t layers, KvKept kept) {
    std::vector<Layer> all;
    for (uint32_t l = 0; l < layers; ++l) all.emplace_back(shape_of(l, 64, 64, kept), l);
    return AttentionGraph(plan, &all, KvType::kF32).graph.activation_bytes[0];
  };
  const size_t pages = kMaxRows / kPagePositions + kMaxItems;
  const size_t page_bytes = size_t{4} * 2 * kv_half_bytes(KvType::kF32, 64);
  EXPECT_EQ(bytes(1, KvKept::kForStep), bytes(5, KvKept::kForStep));
  const size_t taken = bytes(1, KvKept::kForStep) - bytes(1, KvKept::kCached);
  EXPECT_GE(taken, pages * page_bytes);
  EXPECT_LT(taken, (pages + 1) * page_bytes);
}

TEST(Attention, CountsTheirWork) {
  std::vector<Layer> layers = {{shape_of(0, 24, 40, KvKept::kForStep), 0},
                               {shape_of(1, 24, 40, KvKept::kForStep, Mask::kBidirectional), 0},
                               {shape_of(2, 24, 40, KvKept::kCached, Mask::kBidirectional), 0}};
  AttentionGraph graph(even_plan(Phase::kPrefill, kMaxRows, 2, 2, 2), &layers, KvType::kF16);
  graph.run({7, 100});
  std::vector<OpWork> work = graph.work();
  constexpr uint64_t kPairOps = 2 * (24 + 40) * 8;
  EXPECT_EQ(work[0].of(ArithmeticUnit::kF32Fma), (7 * 8 / 2 + 100 * 101 / 2) * kPairOps);
  EXPECT_EQ(work[0].bytes, 0u);
  EXPECT_EQ(work[1].of(ArithmeticUnit::kF32Fma), (7 * 7 + 100 * 100) * kPairOps);
  EXPECT_EQ(work[1].bytes, 0u);
  EXPECT_EQ(work[2].of(ArithmeticUnit::kF32Fma), work[1].of(ArithmeticUnit::kF32Fma));
  EXPECT_EQ(work[2].bytes, uint64_t{107} * 4 * (32 + 48) * 2);
}

TEST(Attention, AShapeThatNoTileHoldsIsRefused) {
  auto fits = [](uint32_t kv_heads, uint32_t group, uint32_t granule, uint32_t value_length) {
    AttentionShape shape = shape_of(0, 128, value_length);
    shape.kv_heads = kv_heads;
    shape.group_size = group;
    shape.granule = granule;
    return attention_tile_fits(shape);
  };
  EXPECT_TRUE(fits(1, 512, 1, 128));
  EXPECT_FALSE(fits(1, 513, 1, 128));
  EXPECT_FALSE(fits(1, 1024, 1, 128));
  EXPECT_TRUE(fits(32, 4, 32, 511));
  EXPECT_FALSE(fits(32, 5, 32, 511));
}

// Returns a shape of one KV head with `heads` query heads, each with 512 result elements.
AttentionShape wide_shape(size_t heads) {
  AttentionShape shape = shape_of(0, 8, 512);
  shape.kv_heads = 1;
  shape.group_size = static_cast<uint32_t>(heads);
  return shape;
}

// The largest shape that fits has one row a task, and no byte behind the tile changes.
TEST(Attention, TheLargestTile) {
  const AttentionShape shape = wide_shape(kAttentionTileFloats / 512);
  ASSERT_TRUE(attention_tile_fits(shape));
  std::vector<Layer> layers = {{shape, 0, 5}};
  AttentionGraph graph(even_plan(Phase::kPrefill, kMaxRows, 1, 1, 2), &layers, KvType::kF32);
  graph.run({5});
  expect_true(layers[0], {5});
}

TEST(AttentionDeathTest, AnOpOfALargerTileIsNotMade) {
  const AttentionShape shape = wide_shape(kAttentionTileFloats / 512 + 1);
  ASSERT_FALSE(attention_tile_fits(shape));
  std::vector<Layer> layers = {{shape, 0, 5}};
  const Plan plan = even_plan(Phase::kPrefill, kMaxRows, 1, 1, 1);
  EXPECT_DEATH(AttentionGraph(plan, &layers, KvType::kF32), "fits into a tile");
}

}  // namespace
}  // namespace hearth
