#include "graph/state_view.h"

#include <cstring>

#include "base/check.h"
#include "base/round_up.h"

namespace hearth {

StateView::StateView(uint32_t slots, uint32_t shards,
                     const std::vector<std::vector<size_t>>& floats)
    : slots_(slots), shards_(shards) {
  constexpr size_t kLine = 64 / sizeof(float);
  for (const std::vector<size_t>& of_layer : floats) {
    HEARTH_CHECK(of_layer.size() == shards, "every shard has a part of the layer's state");
    for (uint32_t s = 0; s < shards; ++s) {
      shards_[s].layers.push_back(shards_[s].slot_floats);
      shards_[s].slot_floats += round_up(of_layer[s], kLine);
    }
  }
}

size_t StateView::slot_bytes() const {
  size_t bytes = 0;
  for (uint32_t s = 0; s < shards_.size(); ++s) bytes += slot_bytes(s);
  return bytes;
}

void StateView::copy(uint32_t from, uint32_t to) const {
  for (const ShardPlace& place : shards_) {
    if (place.slot_floats == 0) continue;
    std::memcpy(place.base + to * place.slot_floats, place.base + from * place.slot_floats,
                place.slot_floats * sizeof(float));
  }
}

}  // namespace hearth
