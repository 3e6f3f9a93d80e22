// The pages of a pass's texts on an accelerator: room for one layer's at a time, on each shard side
// by side. A pass numbers them from 0, those of a text one after another.
#pragma once

#include <cstdint>

#include "accelerator/kernel_calls.h"
#include "graph/step_view.h"

namespace hearth {

class PassPages {
 public:
  // `count` pages at `at`, of such keys and values as `kv` lays out on the host.
  PassPages(const KvView& kv, uint32_t shards, Place at, uint32_t count)
      : kv_(&kv), shards_(shards), at_(at), count_(count) {}

  // Bytes that any of the layers needs.
  static uint64_t bytes(const KvView& kv, uint32_t shards, uint32_t layers, uint32_t count);

  // A shard's pages of a layer.
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
