#include "hybrid/pass_pages.h"

#include <algorithm>

namespace hearth {

uint64_t PassPages::bytes(const KvView& kv, uint32_t shards, uint32_t layers, uint32_t count) {
  uint64_t most = 1;
  for (uint32_t layer = 0; layer < layers; ++layer) {
    uint64_t page = 0;
    for (uint32_t s = 0; s < shards; ++s) page += kv.page_bytes(s, layer);
    most = std::max(most, page * count);
  }
  return most;
}

Place PassPages::page(uint32_t shard, uint32_t layer, uint32_t index) const {
  uint64_t before = 0;
  for (uint32_t s = 0; s < shard; ++s) before += kv_->page_bytes(s, layer) * count_;
  return at_ + before + kv_->page_bytes(shard, layer) * index;
}

KvPages PassPages::of(uint32_t shard, uint32_t layer, uint32_t key_length,
                      uint32_t value_length) const {
  return {.at = page(shard, layer, 0),
          .stride = kv_->page_bytes(shard, layer),
          .count = count_,
          .type = kv_->type(),
          .heads = kv_->heads(shard, layer),
          .key_length = key_length,
          .value_length = value_length};
}

}  // namespace hearth
