#include "graph/step_view.h"

#include "base/check.h"

namespace hearth {

KvView::KvView(KvType type, uint32_t page_count, uint32_t shards,
               const std::vector<KvLayer>& layers, uint32_t window)
    : type_(type), window_(window), counts_{page_count, page_count}, shards_(shards) {
  for (const KvLayer& layer : layers) {
    HEARTH_CHECK(layer.heads.size() == shards, "every shard has a number of KV heads");
    HEARTH_CHECK(layer.kind == KvKind::kFull || window > 0, "a layer's window has a length");
    kinds_.push_back(layer.kind);
    const size_t key_bytes = kv_half_bytes(type, layer.key_length);
    const size_t head_bytes = key_bytes + kv_half_bytes(type, layer.value_length);
    for (uint32_t s = 0; s < shards; ++s) {
      ShardPlace& shard = shards_[s];
      const size_t page_bytes = head_bytes * layer.heads[s];
      size_t& all = shard.page_bytes[static_cast<size_t>(layer.kind)];
      shard.layers.push_back({key_bytes, head_bytes, page_bytes, all, layer.heads[s]});
      all += page_bytes;
    }
  }
}

}  // namespace hearth
