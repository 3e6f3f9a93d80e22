// Tests which matrices of codes stay codes if their groups are not runs of columns, and which
// inputs and rows get the order of their columns.
#include "models/column_orders.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>

#include "formats/source_rows.h"
#include "models/model_spec.h"

namespace hearth {
namespace {

constexpr uint32_t kOrderedK = 64;

// Returns an order in which column j of the pack is column (j + by) % 64 of the matrix; null for 0.
ColumnOrder turned_order(uint32_t by) {
  if (by == 0) return nullptr;
  std::vector<uint32_t> order(kOrderedK);
  for (uint32_t j = 0; j < kOrderedK; ++j) order[j] = (j + by) % kOrderedK;
  return std::make_shared<const std::vector<uint32_t>>(std::move(order));
}

// A model of matrices 64 x 64 of 4 bits, described by the orders of their columns.
class OrderedModel {
 public:
  // Adds a matrix whose columns are turned by `by`; of floats if `codes` is false.
  WeightId add(uint32_t by, bool codes = true) {
    SourceTensor& tensor = tensors_.emplace_back();
    tensor.dims = {kOrderedK, kOrderedK};
    tensor.n_elements = uint64_t{kOrderedK} * kOrderedK;
    tensor.dtype = codes ? DType::kF32 : DType::kBF16;
    if (codes) {
      StoredCodes& of = codes_.emplace_back();
      of.rows = of.k = kOrderedK;
      of.bits = 4;
      of.value = CodeValue::kInteger;
      of.group = 32;
      of.groups = 2;
      of.scale = ScaleForm::kF16;
      of.column_order = turned_order(by);
      tensor.runs.resize(1);
      tensor.runs[0].codes = &of;
    }
    WeightSpec weight = {};
    weight.rows = weight.k = kOrderedK;
    weight.dtype = tensor.dtype;
    weight.packed = packed_type(tensor, 0, kOrderedK, kOrderedK);
    weight.data = &tensor;
    spec.weights.push_back(weight);
    return {static_cast<uint32_t>(spec.weights.size() - 1)};
  }
  void add_block(decltype(Block::body) body) { spec.layers.push_back({{{std::move(body), {}}}}); }

  bool is_codes(WeightId id) const { return spec.weight(id).packed.code_bits == 4; }
  // Return the shift of the order that settle_column_orders() gave to the matrix's input or rows;
  // 0: no order.
  uint32_t input(WeightId id) const { return first_of(spec.weight(id).input_order); }
  uint32_t rows(WeightId id) const { return first_of(spec.weight(id).row_order); }

  ModelSpec spec;

 private:
  static uint32_t first_of(const ColumnOrder& order) { return order == nullptr ? 0 : (*order)[0]; }

  std::deque<SourceTensor> tensors_;
  std::deque<StoredCodes> codes_;
};

struct MadeAttention {
  OrderedModel model;
  AttentionBlock block;

  MadeAttention(uint32_t q, uint32_t k, uint32_t v, uint32_t o, bool v_codes = true) {
    block.query.weight = model.add(q);
    block.key.weight = model.add(k);
    block.value.weight = model.add(v, v_codes);
    block.output.weight = model.add(o);
    model.add_block(block);
    settle_column_orders(&model.spec);
  }
};

TEST(ColumnOrders, AttentionGathersOneOrder) {
  const MadeAttention made(3, 3, 3, 7);
  for (const LinearRef* of : {&made.block.query, &made.block.key, &made.block.value}) {
    EXPECT_TRUE(made.model.is_codes(of->weight));
    EXPECT_EQ(made.model.input(of->weight), 3u);
  }
  EXPECT_TRUE(made.model.is_codes(made.block.output.weight));
  EXPECT_EQ(made.model.input(made.block.output.weight), 7u);
  EXPECT_TRUE(made.model.spec.notes.empty());
}

TEST(ColumnOrders, OthersThatReadTheSameInputBecomeF32) {
  const MadeAttention differ(3, 4, 0, 7), floats(3, 3, 0, 7, false), none(0, 0, 0, 0);
  EXPECT_EQ(differ.model.spec.weight(differ.block.query.weight).packed, DType::kF32);
  EXPECT_EQ(differ.model.spec.weight(differ.block.key.weight).packed, DType::kF32);
  EXPECT_TRUE(differ.model.is_codes(differ.block.value.weight)) << "its columns lie in order";
  EXPECT_EQ(differ.model.input(differ.block.query.weight), 0u);
  EXPECT_EQ(differ.model.input(differ.block.output.weight), 7u);
  ASSERT_EQ(differ.model.spec.notes.size(), 1u);
  EXPECT_EQ(differ.model.spec.notes[0].find("2 tensors of"), 0u) << differ.model.spec.notes[0];
  EXPECT_FALSE(floats.model.is_codes(floats.block.key.weight));
  EXPECT_EQ(floats.model.spec.weight(floats.block.value.weight).packed, DType::kBF16);
  EXPECT_TRUE(none.model.is_codes(none.block.query.weight));
  EXPECT_TRUE(none.model.spec.notes.empty());
}

struct MadeFeedForward {
  OrderedModel model;
  FeedForwardBlock block;

  MadeFeedForward(uint32_t gate, uint32_t up, uint32_t down, bool bias = false) {
    block.gate.weight = model.add(gate);
    block.up.weight = model.add(up);
    block.down.weight = model.add(down);
    if (bias) block.up.bias = block.up.weight;
    model.add_block(block);
    settle_column_orders(&model.spec);
  }
};

TEST(ColumnOrders, RowsOfGateAndUpTakeTheOrderOfDown) {
  for (uint32_t before : {0u, 3u}) {
    const MadeFeedForward made(before, before, 5);
    for (const LinearRef* of : {&made.block.gate, &made.block.up}) {
      EXPECT_EQ(made.model.input(of->weight), before);
      EXPECT_EQ(made.model.rows(of->weight), 5u);
    }
    EXPECT_TRUE(made.model.is_codes(made.block.down.weight));
    EXPECT_EQ(made.model.input(made.block.down.weight), 0u);
    EXPECT_TRUE(made.model.spec.notes.empty());
  }
}

TEST(ColumnOrders, DownGathersWhereRowsStay) {
  const MadeFeedForward biased(3, 3, 5, true), floats(3, 4, 5);
  for (const MadeFeedForward* made : {&biased, &floats}) {
    EXPECT_EQ(made->model.rows(made->block.gate.weight), 0u);
    EXPECT_EQ(made->model.rows(made->block.up.weight), 0u);
    EXPECT_TRUE(made->model.is_codes(made->block.down.weight));
    EXPECT_EQ(made->model.input(made->block.down.weight), 5u);
  }
  EXPECT_FALSE(floats.model.is_codes(floats.block.up.weight));
}

// Experts by the orders of their gates, ups and downs.
struct MadeExperts {
  OrderedModel model;
  ExpertsBlock block;

  explicit MadeExperts(const std::vector<std::array<uint32_t, 3>>& orders, bool codes = true) {
    block.router = model.add(0, false);
    for (const auto& [gate, up, down] : orders) {
      block.experts.push_back({model.add(gate, codes), model.add(up, codes), model.add(down)});
    }
    block.shared = {model.add(8), model.add(8), model.add(9)};
    model.add_block(block);
    settle_column_orders(&model.spec);
  }
};

TEST(ColumnOrders, EveryExpertHasItsOwn) {
  const MadeExperts made({{3, 3, 5}, {0, 0, 7}, {4, 4, 0}});
  const uint32_t inputs[] = {3, 0, 4}, rows[] = {5, 7, 0};
  for (size_t e = 0; e < 3; ++e) {
    const ExpertsBlock::Expert& expert = made.block.experts[e];
    for (WeightId id : {expert.gate, expert.up}) {
      EXPECT_EQ(made.model.input(id), inputs[e]);
      EXPECT_EQ(made.model.rows(id), rows[e]);
    }
    EXPECT_TRUE(made.model.is_codes(expert.down));
    EXPECT_EQ(made.model.input(expert.down), 0u);
  }
  EXPECT_EQ(made.model.input(made.block.shared->up), 8u);
  EXPECT_EQ(made.model.rows(made.block.shared->up), 9u);
  EXPECT_TRUE(made.model.spec.notes.empty());
}

TEST(ColumnOrders, ExpertsOfALayerHaveOneType) {
  // The second expert's gate and up differ.
  const MadeExperts differ({{3, 3, 0}, {3, 4, 0}}), downs({{3, 4, 5}, {0, 0, 0}});
  const MadeExperts floats({{0, 0, 5}, {0, 0, 0}}, false);
  for (const ExpertsBlock::Expert& expert : differ.block.experts) {
    EXPECT_EQ(differ.model.spec.weight(expert.gate).packed, DType::kF32);
    EXPECT_EQ(differ.model.spec.weight(expert.up).packed, DType::kF32);
    EXPECT_EQ(differ.model.input(expert.up), 0u);
    EXPECT_TRUE(differ.model.is_codes(expert.down));
  }
  EXPECT_TRUE(differ.model.is_codes(differ.block.shared->gate));
  EXPECT_EQ(differ.model.spec.notes.size(), 1u);
  for (const MadeExperts* made : {&downs, &floats}) {
    for (const ExpertsBlock::Expert& expert : made->block.experts) {
      EXPECT_EQ(made->model.spec.weight(expert.down).packed, DType::kF32);
      EXPECT_EQ(made->model.input(expert.down), 0u);
      EXPECT_EQ(made->model.rows(expert.gate), 0u);
    }
  }
}

}  // namespace
}  // namespace hearth
