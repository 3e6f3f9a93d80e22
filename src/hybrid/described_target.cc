#include "hybrid/described_target.h"

#include <optional>
#include <utility>

#include "base/error.h"
#include "hybrid/accelerator_layers.h"
#include "kernels/attention/attention.h"

namespace hearth {
namespace {

// Returns the machine marked as described. So the memory of arenas is neither bound to nodes nor
// touched.
Machine as_described(Machine machine) {
  machine.source = MachineSource::kDescribed;
  return machine;
}

KvView lay_out(const Model& model, KvType type, uint32_t context) {
  const ModelSpec& spec = model.spec();
  const uint32_t shards = model.weights().shard_count();
  std::vector<KvLayer> layers;
  const uint32_t window = spec.kept_window();
  for (uint32_t layer = 0; layer < spec.layers.size(); ++layer) {
    KvLayer& kv = layers.emplace_back();
    const std::optional<KeptRows> kept = spec.kept(layer);
    if (kept) kv = {kept->key_length, kept->value_length, {}, kv_kind(window, *kept)};
    for (uint32_t s = 0; s < shards; ++s) {
      const uint32_t heads = kept ? model.axes()[kept->axis].cuts.shard(s).size() : 0;
      kv.heads.push_back(kept && kept->latent ? std::min(heads, 1u) : heads);
    }
  }
  return {type, pages_for(context), shards, layers, window};
}

}  // namespace

DescribedTarget::DescribedTarget(ModelSpec spec, const Machine& machine, ModelPlacement placement,
                                 KvType kv_type, uint32_t context) {
  const std::string why = why_no_prefill(spec);
  if (!why.empty()) fail(ErrorCode::kUnsupported, "{}", why);
  const Machine described = as_described(machine);
  const std::vector<uint32_t> nodes = placement.shard_nodes;
  const auto model = std::make_shared<Model>(std::move(spec), described, std::move(placement));
  model->lay_out();
  kv_ = lay_out(*model, kv_type, context);
  target_ = {.model = model, .kv = &kv_, .kv_memory = {}, .context = context};
  target_.only_timed = true;
  for (uint32_t s = 0; s < nodes.size(); ++s) {
    const Arena& arena = pages_.emplace_back(described, nodes[s], kv_.shard_bytes(s), "pages");
    kv_.set_base(s, arena.data());
    target_.kv_memory.emplace_back(arena.data(), arena.capacity());
  }
}

}  // namespace hearth
