#include "models/column_orders.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <set>

#include "base/bytes_text.h"
#include "base/count_text.h"
#include "models/model_spec.h"

namespace hearth {
namespace {

class OrderSettler {
 public:
  explicit OrderSettler(ModelSpec* spec) : spec_(*spec), settled_(spec->weights.size(), false) {}

  void settle(const AttentionBlock& block) {
    gather({block.query.weight, block.key.weight, block.value.weight});
    gather({block.output.weight});
  }
  void settle(const FeedForwardBlock& block) {
    const bool gated{block.gate.weight};
    gather({gated ? block.gate.weight : block.up.weight, block.up.weight});
    gather({block.down.weight});
    WeightSpec& down = weight(block.down.weight);
    const bool biased = block.gate.bias || block.up.bias;
    if (down.input_order == nullptr || biased || !is_codes(block.up.weight)) return;
    if (gated && !is_codes(block.gate.weight)) return;
    weight(block.up.weight).row_order = down.input_order;
    if (gated) weight(block.gate.weight).row_order = down.input_order;
    down.input_order = nullptr;
  }
  // Blocks whose ops gather nothing.
  template <typename Body>
  void settle(const Body&) {}

  // Whatever no block settled becomes F32.
  void finish() {
    std::set<const SourceTensor*> tensors;
    uint64_t bytes = 0;
    for (size_t i = 0; i < spec_.weights.size(); ++i) {
      WeightSpec& left = spec_.weights[i];
      if (settled_[i] || order_of(left) == nullptr) continue;
      left.packed = left.dtype;
      tensors.insert(left.data);
      bytes += uint64_t{left.rows} * left.k * sizeof(float);
    }
    if (tensors.empty()) return;
    spec_.notes.push_back(fmt::format(
        "{} of '{}' become F32, {} in memory and as slow as that: their columns are in no "
        "order of groups (act-order), and activations are gathered for attention and dense "
        "feed-forward layers alone, where all matrices that read them have one order",
        count_text(tensors.size(), "tensor"), spec_.source, bytes_text(bytes)));
  }

 private:
  WeightSpec& weight(WeightId id) { return spec_.weights[id.index]; }
  // Whether it stays so.
  bool is_codes(WeightId id) {
    const WeightSpec& of = weight(id);
    return of.packed.code_bits != 0 && (settled_[id.index] || order_of(of) == nullptr);
  }
  // Of a matrix that is packed as codes, the order of its columns, or null.
  static ColumnOrder order_of(const WeightSpec& weight) {
    if (weight.packed.code_bits == 0) return nullptr;
    return weight.data->runs[0].codes->column_order;
  }

  // Matrices that read one input gather it where their orders are one.
  void gather(std::initializer_list<WeightId> readers) {
    const ColumnOrder order = order_of(weight(*readers.begin()));
    const bool one = std::ranges::all_of(
        readers, [&](WeightId id) { return same_order(order_of(weight(id)), order); });
    if (!one || order == nullptr) return;
    for (WeightId id : readers) {
      weight(id).input_order = order;
      settled_[id.index] = true;
    }
  }

  ModelSpec& spec_;
  std::vector<bool> settled_;
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
