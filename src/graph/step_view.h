// A step as ops see it: a ragged list of sequences' tokens. The engine fills it, and it is constant
// while the graph runs.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "graph/state_view.h"
#include "kernels/attention/attention.h"
#include "tensor/pack_spec.h"

namespace hearth {

// The most positions of a sequence.
inline constexpr uint32_t kMaxContext = 1u << 20;

// The kinds of pages. Pages of kFull hold positions of layers whose rows see all positions before
// their own; those of kWindow, of layers whose rows see a window (KvLayer).
enum class KvKind : uint8_t { kFull, kWindow };
inline constexpr size_t kKvKinds = 2;

// Returns the number of the first page that the token at position `length` or a later token sees. A
// row sees `window` positions, its own included.
constexpr uint32_t first_window_page(uint32_t window, uint32_t length) {
  return length < window ? 0 : (length - window + 1) / kPagePositions;
}

// Returns the most pages of a window at any length: those of the window - 1 positions before the
// next token, if they end with a page, and the page that the token begins.
constexpr uint32_t max_window_pages(uint32_t window) { return pages_for(window - 1) + 1; }

// The rows of one sequence: tokens at positions first_position, first_position + 1, ...
struct StepItem {
  uint32_t first_row;
  uint32_t rows;
  uint32_t first_position;
  const uint32_t* pages;  // pages[p / kPagePositions] is the id of the page that holds position p
  uint32_t expanded = 0;  // how many rows, the first ones, attend to expanded latents
  // The state's slots: read before the first row, and written after the last. For models with
  // states.
  uint32_t state_from = kNoSlot, state_to = kNoSlot;
  // The pages of kWindow, if the model has some. Entries of pages that the window has passed are
  // not read.
  const uint32_t* window_pages = nullptr;

  const uint32_t* pages_of(KvKind kind) const {
    return kind == KvKind::kFull ? pages : window_pages;
  }
};

// Returns how many of the `rows` positions from `first` on are among the first `expanded` ones.
constexpr uint32_t expanded_part(uint32_t expanded, uint32_t first, uint32_t rows) {
  return std::min(rows, expanded - std::min(expanded, first));
}

// A shard's columns of the step's logits, on its node.
struct ShardLogits {
  uint32_t panels = 0;      // the shard's rows of the LM head
  float* logits = nullptr;  // [logit_rows][panels x 16]
  // [logit_rows][panels]: the largest of each (kernels/maximum/maximum.h), in sampled rows.
  float* maxima = nullptr;

  size_t columns() const { return size_t{panels} * kPanelRows; }
  float* row(size_t r) const { return logits + r * columns(); }
  float* row_maxima(size_t r) const { return maxima + r * panels; }
};

struct StepView {
  std::span<const int32_t> tokens;      // [rows]
  std::span<const uint32_t> positions;  // [rows]
  std::span<const uint32_t> row_items;  // [rows]: the item of each row
  std::span<const StepItem> items;
  // The output rows, by index in the step: first those whose logits are wanted, then those whose
  // logits the head computes later, a few at a time, then those whose hidden states (the final
  // norm's output) are wanted.
  std::span<const uint32_t> outputs;
  uint32_t logit_rows = 0;
  std::span<const ShardLogits> logits;  // by shard
  std::span<const uint8_t> sampled;     // [logit_rows]: 1 if tokens are sampled from the row
  float* hidden = nullptr;              // [outputs - logit_rows - later_rows][width]
  // [rows]: 1 if the row's token is of the second type; empty: no token is.
  std::span<const uint8_t> second = {};

  uint32_t later_rows = 0;
  // The index in `outputs` of the first row whose logits are computed, in a run that computes only
  // the head.
  uint32_t first_logit = 0;
  const StateView* states = nullptr;  // of a model that keeps some

  bool is_second(uint32_t row) const { return !second.empty() && second[row] != 0; }
  uint32_t rows() const { return static_cast<uint32_t>(tokens.size()); }
};

// The keys and values that a layer keeps for each position: their lengths, and the KV heads on each
// shard. A shard with 0 heads keeps nothing of the layer. Latents are keys and values at once
// (kernels/attention/latent.h), so they have no values beside them. Their `heads` count copies of
// the one latent, one for each group of the shard (graph/ops/latent.h).
struct KvLayer {
  uint32_t key_length = 0, value_length = 0;
  std::vector<uint32_t> heads;  // by shard
  KvKind kind = KvKind::kFull;
};

// The pages of keys and values: one region per shard. It holds one layer after the other, layers of
// kFull first, each as [pages of its kind][the shard's KV heads][half of keys, half of values].
// Layers need not be alike. Layers of a kind, and shards, share the page ids.
class KvView {
 public:
  KvView() = default;
  // Makes a view of `page_count` pages of each kind that there is. `window`: the most positions
  // that rows of layers of kWindow see, their own included; 0: there are none.
  KvView(KvType type, uint32_t page_count, uint32_t shards, const std::vector<KvLayer>& layers,
         uint32_t window = 0);

  KvType type() const { return type_; }
  uint32_t window() const { return window_; }
  KvKind kind(uint32_t layer) const { return kinds_[layer]; }
  uint32_t page_count(KvKind kind = KvKind::kFull) const {
    return counts_[static_cast<size_t>(kind)];
  }
  // Sets the number of pages of a kind. Must be called before the shards have memory.
  void set_page_count(uint32_t count, KvKind kind = KvKind::kFull) {
    counts_[static_cast<size_t>(kind)] = count;
  }
  // `base`: shard_bytes(shard) bytes, 64-byte aligned.
  void set_base(uint32_t shard, std::byte* base) { shards_[shard].base = base; }

  uint32_t heads(uint32_t shard, uint32_t layer) const {
    return shards_[shard].layers[layer].heads;
  }
  // Returns the bytes of one layer's page on a shard, with one head after the other.
  size_t page_bytes(uint32_t shard, uint32_t layer) const {
    return shards_[shard].layers[layer].page_bytes;
  }
  // Returns the bytes of a page on a shard, of all layers of its kind.
  size_t page_bytes(uint32_t shard, KvKind kind = KvKind::kFull) const {
    return shards_[shard].page_bytes[static_cast<size_t>(kind)];
  }
  size_t shard_bytes(uint32_t shard) const {
    return kind_bytes(shard, KvKind::kFull) + kind_bytes(shard, KvKind::kWindow);
  }

  // `head` is counted from the first that the shard has.
  KvPage page(uint32_t shard, uint32_t layer, uint32_t page_id, uint32_t head) const {
    const LayerPlace& place = shards_[shard].layers[layer];
    const KvKind kind = kinds_[layer];
    const size_t others = kind == KvKind::kFull ? 0 : kind_bytes(shard, KvKind::kFull);
    std::byte* k = shards_[shard].base + others + place.before * page_count(kind) +
                   place.page_bytes * page_id + place.head_bytes * head;
    return {k, k + place.key_bytes};
  }

 private:
  size_t kind_bytes(uint32_t shard, KvKind kind) const {
    return page_bytes(shard, kind) * page_count(kind);
  }

  struct LayerPlace {
    size_t key_bytes = 0, head_bytes = 0;  // of a head's page: its keys, and all of it
    size_t page_bytes = 0;                 // of all heads
    size_t before = 0;                     // bytes of a page in the layers before this one
    uint32_t heads = 0;
  };
  struct ShardPlace {
    std::byte* base = nullptr;
    std::array<size_t, kKvKinds> page_bytes{};
    std::vector<LayerPlace> layers;
  };
  KvType type_ = KvType::kF16;
  uint32_t window_ = 0;
  std::array<uint32_t, kKvKinds> counts_{};
  std::vector<KvKind> kinds_;  // by layer
  std::vector<ShardPlace> shards_;
};

}  // namespace hearth
