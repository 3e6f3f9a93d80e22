#include "models/column_orders.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <set>

#include "base/bytes_text.h"
#include "base/count_text.h"
#include "formats/code_packs.h"
#include "models/model_spec.h"

namespace hearth {
namespace {

class OrderSettler {
 public:
  explicit OrderSettler(ModelSpec* spec)
      : spec_(*spec), settled_(spec->weights.size()), floats_(spec->weights.size()) {}

  void settle(const AttentionBlock& block) {
    std::vector<WeightId> readers{block.query.weight};
    for (WeightId id : {block.key.weight, block.value.weight}) {
      if (id) readers.push_back(id);
    }
    gather(readers);
    gather({block.output.weight});
  }
  void settle(const FeedForwardBlock& block) {
    const WeightId gate = block.gate.weight ? block.gate.weight : block.up.weight;
    gather({gate, block.up.weight});
    gather({block.down.weight});
    const bool biased = block.gate.bias || block.up.bias;
    if (biased || !is_codes(gate) || !is_codes(block.up.weight)) return;
    give_rows({gate, block.up.weight}, block.down.weight);
  }
  void settle(const ExpertsBlock& block) {
    settle_experts(block.experts, block.gate_bias || block.up_bias);
    if (block.shared) settle_experts({*block.shared}, false);
  }
  // Does nothing for blocks whose ops gather nothing.
  template <typename Body>
  void settle(const Body&) {}

  // Makes every matrix F32 whose column order is still unsettled, and notes the number of these
  // tensors.
  void finish() {
    std::set<const SourceTensor*> tensors;
    uint64_t bytes = 0;
    for (size_t i = 0; i < spec_.weights.size(); ++i) {
      WeightSpec& left = spec_.weights[i];
      if (!floats_[i] && (settled_[i] || order_of(left) == nullptr)) continue;
      left.packed = left.dtype;
      tensors.insert(left.data);
      bytes += uint64_t{left.rows} * left.k * sizeof(float);
    }
    if (tensors.empty()) return;
    spec_.notes.push_back(
        fmt::format("{} of '{}' become F32, which takes {} of memory and is slow: their columns "
                    "are reordered (act-order), which is supported only in attention and "
                    "feed-forward layers whose matrices all have the same order",
                    count_text(tensors.size(), "tensor"), spec_.source, bytes_text(bytes)));
  }

 private:
  WeightSpec& weight(WeightId id) { return spec_.weights[id.index]; }
  // Returns whether the matrix stays packed as codes.
  bool is_codes(WeightId id) { return weight(id).packed.code_bits != 0 && is_settled(id); }
  // Returns whether the order of the matrix's columns needs no further decision.
  bool is_settled(WeightId id) { return settled_[id.index] || order_of(weight(id)) == nullptr; }
  // Returns the order of the columns of a matrix that is packed as codes, or null.
  static ColumnOrder order_of(const WeightSpec& weight) {
    if (weight.packed.code_bits == 0) return nullptr;
    return column_order_at(*weight.data, weight.first);
  }

  // Sets the input_order of matrices that read one input, so that it is gathered once. Does nothing
  // if their orders differ or they have none.
  void gather(const std::vector<WeightId>& readers) {
    const ColumnOrder order = order_of(weight(*readers.begin()));
    const bool one = std::ranges::all_of(
        readers, [&](WeightId id) { return same_order(order_of(weight(id)), order); });
    if (!one || order == nullptr) return;
    for (WeightId id : readers) {
      weight(id).input_order = order;
      settled_[id.index] = true;
    }
  }

  // Packs the rows of `readers` (gate and up) in the order of down's packed columns, so that down's
  // input needs no gathering.
  void give_rows(std::initializer_list<WeightId> readers, WeightId of_down) {
    WeightSpec& down = weight(of_down);
    for (WeightId id : readers) weight(id).row_order = down.input_order;
    down.input_order = nullptr;
  }

  // Settles the orders of a layer's experts. With `biased`, rows of gates and ups keep their order,
  // since their biases keep theirs.
  void settle_experts(const std::vector<ExpertsBlock::Expert>& experts, bool biased) {
    for (const ExpertsBlock::Expert& expert : experts) {
      gather({expert.gate, expert.up});
      gather({expert.down});
    }
    using Expert = ExpertsBlock::Expert;
    const bool settled = std::ranges::all_of(experts, [this](const Expert& expert) {
      return is_settled(expert.gate) && is_settled(expert.up);
    });
    const bool codes = !biased && std::ranges::all_of(experts, [this](const Expert& expert) {
      return is_codes(expert.gate) && is_codes(expert.up);
    });
    const bool down_ordered = std::ranges::any_of(
        experts, [this](const Expert& expert) { return order_of(weight(expert.down)) != nullptr; });
    for (const Expert& expert : experts) {
      if (!settled) become_floats({expert.gate, expert.up});
      if (codes) give_rows({expert.gate, expert.up}, expert.down);
      if (!codes && down_ordered) become_floats({expert.down});
    }
  }
  void become_floats(std::initializer_list<WeightId> ids) {
    for (WeightId id : ids) {
      weight(id).input_order = nullptr;
      floats_[id.index] = weight(id).packed.code_bits != 0;
    }
  }

  ModelSpec& spec_;
  std::vector<bool> settled_;
  std::vector<bool> floats_;  // become F32, whatever their order
};

}  // namespace

void settle_column_orders(ModelSpec* spec) {
  OrderSettler settler(spec);
  for (const Layer& layer : spec->layers) {
    for (const Block& block : layer.blocks) {
      std::visit([&](const auto& body) { settler.settle(body); }, block.body);
    }
  }
  settler.finish();
}

}  // namespace hearth
