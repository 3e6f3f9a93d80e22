#include "graph/step_view.h"

#include "base/check.h"

namespace hearth {

KvView::KvView(KvType type, uint32_t page_count, uint32_t shards,
               const std::vector<KvLayer>& layers)
    : type_(type), page_count_(page_count), shards_(shards) {
  for (const KvLayer& layer : layers) {
    HEARTH_CHECK(layer.heads.size() == shards, "every shard has a number of KV heads");
    const size_t key_bytes = kv_half_bytes(type, layer.key_length);
    const size_t head_bytes = key_bytes + kv_half_bytes(type, layer.value_length);
    for (uint32_t s = 0; s < shards; ++s) {
      ShardPlace& shard = shards_[s];
      const size_t page_bytes = head_bytes * layer.heads[s];
      shard.layers.push_back({key_bytes, head_bytes, page_bytes, shard.page_bytes, layer.heads[s]});
      shard.page_bytes += page_bytes;
    }
  }
}

}  // namespace hearth
