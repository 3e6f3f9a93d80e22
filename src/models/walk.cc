#include "models/walk.h"

#include "base/check.h"

namespace hearth {

void walk_model(const ModelSpec& spec, BlockBuilder& builder) {
  struct Place {
    uint32_t layer;
    const Block* block;
  };
  std::vector<Place> places;
  for (uint32_t layer = 0; layer < spec.layers.size(); ++layer) {
    for (const Block& block : spec.layers[layer].blocks) places.push_back({layer, &block});
  }
  HEARTH_CHECK(!places.empty(), "a model has blocks");
  Reduced state = builder.embed(spec.embedding, places[0].block->norms.before);
  for (size_t i = 0; i < places.size(); ++i) {
    const auto& [layer, block] = places[i];
    const Partials result = builder.block(layer, *block, state);
    BlockBuilder::Next next{.norm = spec.last_norm, .router = {}, .rows = RowSet::kOutputs};
    if (i + 1 < places.size()) {
      const Block& following = *places[i + 1].block;
      const auto* experts = std::get_if<ExpertsBlock>(&following.body);
      next = {.norm = following.norms.before};
      if (experts != nullptr) next.router = experts->router_norm;
    }
    state = builder.join(state, result, *block, next);
  }
  if (spec.head) builder.logits(state.normed, spec.head);
}

}  // namespace hearth
