// The KV pages of a pass's texts on an accelerator, for one layer at a time. The pages of each
// shard follow those of the shard before. A pass numbers its pages from 0 on, text after text.
#pragma once

#include <cstdint>

#include "accelerator/kernel_calls.h"
#include "graph/step_view.h"

namespace hearth {

class PassPages {
 public:
  // There are `count` pages for each shard, from `at` on. They have the types and lengths that `kv`
  // has.
  PassPages(const KvView& kv, uint32_t shards, Place at, uint32_t count)
      : kv_(&kv), shards_(shards), at_(at), count_(count) {}

  // Returns the bytes of `count` pages of the layer that needs most.
  static uint64_t bytes(const KvView& kv, uint32_t shards, uint32_t layers, uint32_t count);

  KvPages of(uint32_t shard, uint32_t layer, uint32_t key_length, uint32_t value_length) const;
  Place page(uint32_t shard, uint32_t layer, uint32_t index) const;
  uint32_t count() const { return count_; }

 private:
  const KvView* kv_;
  uint32_t shards_;
  Place at_;
  uint32_t count_;
};

}  // namespace hearth
