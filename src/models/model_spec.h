// ModelSpec: a model's description by its architecture, as data: its layers as lists of blocks,
// every weight with its shape and cut, and the axes that weights are cut along. Sizes, packing,
// placement, graphs, predictions and reports are made from it. It needs no graph and no machine,
// and is made in milliseconds.
//
// Throws Error (kFile), naming a tensor that is missing or has another shape than the
// hyper-parameters say; Error (kUnsupported) for an architecture or a tensor that this program does
// not know.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "formats/model_source.h"
#include "graph/step_view.h"
#include "models/blocks.h"
#include "models/hyper_parameters.h"
#include "models/weight_policy.h"

namespace hearth {

struct Architecture;

// Index into ModelSpec::axes.
using AxisId = uint32_t;

// An axis of the model along which several weights are cut over NUMA nodes, at the same places.
struct AxisSpec {
  std::string name;         // "heads"
  uint32_t items = 0;       // how many heads, FFN columns or tokens
  uint32_t unit_items = 1;  // cuts lie at multiples of this many items
  // The axis of the KV heads, if this is an axis of query heads: each KV head has an equal group of
  // them. Both axes are cut together (models/axis_cutting.h), in units that the cutting chooses.
  std::optional<AxisId> kv_axis = {};
  // Columns of the output projection for one item, on an axis of query heads. Cuts lie at multiples
  // of 32 columns.
  uint32_t item_columns = 1;

  bool operator==(const AxisSpec&) const = default;
};

// How a weight lies on the shards' nodes.
enum class WeightCut : uint8_t {
  kRows,        // every shard has rows of it and computes its own outputs
  kColumns,     // every shard has columns of it and computes partial sums of all outputs
  kReplicated,  // a matrix that every shard has a copy of: each group computes all outputs
  kVector,      // a small vector in f32: every shard has a copy
};

// Columns that a pack has in another order than the source: groups x count runs of `length`
// columns. Run (g, i) is run i * groups + g of the source, and run g * count + i of the pack.
// length 0: the order is the same.
struct ColumnRuns {
  uint32_t length = 0, groups = 0, count = 0;
};

// A weight: a whole tensor, or some of its rows, since one tensor may hold the rows of Q, K and V.
struct WeightSpec {
  std::string name;    // of its tensor
  const char* member;  // its name in its block, for reports: "q", "gate"
  int layer;           // -1 outside the layers
  uint32_t rows, k;    // W[rows, k]; a vector is one row
  WeightCut cut;
  AxisId axis = 0;         // the axis that it is cut along
  uint32_t item_size = 0;  // rows or columns for an item of the axis
  DType dtype = {};        // of the tensor in the source
  // The type that it is packed as: its own, f32, or one that a WeightPolicy chooses. It is settled
  // when the spec is finished, together with FP8's kind, which depends on where its scales lie
  // (packed_type in formats/source_rows.h).
  PackedType packed = dtype;
  bool widened = false;  // it is packed as f32, whatever type it is stored as
  // The tensor in the source, which must live until the model is loaded.
  const SourceTensor* data = nullptr;
  // The index in `data` of its first row (of a matrix) or element (of a vector).
  uint32_t first = 0;
  // Orders of columns and rows, null if they are as in the source (column_orders.h). Products
  // gather their input in input_order. Row r is row first + row_order[r] of `data`.
  ColumnOrder input_order = {}, row_order = {};
  ColumnRuns column_runs = {};
  // The elements of a row, for a vector that is a table in `data` and is stored by columns; 0: it
  // is no table.
  uint32_t table_columns = 0;
  int expert = -1;  // the expert that it belongs to; -1: none
  float scale = 1;  // factor of all its elements; not 1 only for NVFP4 (SpecBuilder)
  // The weights of the columns of `data` if a policy quantises it; null: all columns weigh the
  // same. The policy owns the entry.
  const ImportanceEntry* importance = nullptr;

  // Returns the weight's own bytes of `data`, which must have no runs.
  std::span<const std::byte> bytes() const;
  bool is_matrix() const { return cut != WeightCut::kVector; }
};

// The keys and values that a layer keeps of every position from step to step, and the axis that
// they are cut along.
struct KeptRows {
  uint32_t key_length = 0, value_length = 0;
  AxisId axis = 0;  // of KV heads; for latents, which every shard with heads has, of query heads
  bool latent = false;
  uint32_t window = 0;  // positions that a row sees, its own included; 0: all before it
};
// Returns the kind of a layer's pages in a model with this ModelSpec::kept_window().
constexpr KvKind kv_kind(uint32_t kept_window, const KeptRows& rows) {
  return kept_window > 0 && rows.window > 0 ? KvKind::kWindow : KvKind::kFull;
}

// The floats, for each item of an axis, of the state that a layer keeps of all positions so far
// (DeltaShape describes its layout).
struct KeptState {
  AxisId axis = 0;
  size_t item_floats = 0;
};

struct ModelSpec {
  const Architecture* architecture = nullptr;
  std::string source;  // its name, for messages
  HyperParameters hyper;
  std::vector<AxisSpec> axes;
  AxisId vocabulary_axis = 0;
  EmbeddingBlock embedding;
  std::vector<Layer> layers;
  std::optional<NormRef> last_norm;  // of the stream; none if the last layer ends with a norm
  WeightId head;                     // the matrix that gives logits; none if the model gives none
  float logit_cap = 0;               // a soft cap of logits (SoftCapArgs); 0: none
  std::optional<ScoreBlock> score;   // of a reranker that has a head for scores
  std::vector<WeightSpec> weights;   // in the order in which they were declared
  WeightPolicy policy;               // decides the types that weights are packed as
  std::vector<std::string> notes;    // sentences for users on how weights are packed

  const WeightSpec& weight(WeightId id) const { return weights[id.index]; }
  // Returns the layer's first block of that kind, or nullptr.
  template <typename Body>
  const Body* block(uint32_t layer) const {
    for (const Block& block : layers[layer].blocks) {
      if (const Body* body = std::get_if<Body>(&block.body)) return body;
    }
    return nullptr;
  }
  // Returns the first block of that kind in any layer, or nullptr.
  template <typename Body>
  const Body* first() const {
    for (uint32_t layer = 0; layer < layers.size(); ++layer) {
      if (const Body* body = block<Body>(layer)) return body;
    }
    return nullptr;
  }
  // Returns whether `is` holds for any block of that kind.
  template <typename Body, typename Is>
  bool any(const Is& is) const {
    for (uint32_t layer = 0; layer < layers.size(); ++layer) {
      const Body* body = block<Body>(layer);
      if (body != nullptr && is(*body)) return true;
    }
    return false;
  }
  // kept() and kept_state() return none if the layer keeps nothing.
  std::optional<KeptRows> kept(uint32_t layer) const;
  std::optional<KeptState> kept_state(uint32_t layer) const;
  // Returns whether any layer keeps a state.
  bool has_states() const;
  // Returns the axis of the layer's query heads, if it has attention.
  std::optional<AxisId> head_axis(uint32_t layer) const;
  // Returns how many experts a layer with experts has; 0: no layer has any.
  uint32_t expert_count() const;
  // Returns whether any layer keeps keys and values from step to step.
  bool has_kv_cache() const;
  // Returns the longest window of layers that keep keys and values of a window, if other layers
  // keep those of all positions; 0: all layers keep all.
  uint32_t kept_window() const;
  // Returns whether any layer keeps latents in place of keys and values.
  bool has_latents() const { return first<LatentBlock>() != nullptr; }
  // Returns whether a row sees rows after it. Such a model gives vectors and no text.
  bool is_encoder() const;
  // Returns whether the model scores pairs of texts: it has a head for that, or its file says so
  // (`rank`).
  bool is_reranker() const;
  // Returns the bytes of all matrices in the source.
  uint64_t matrix_bytes() const;
};

// Returns the name `blk.<layer>.<name>`.
std::string layer_tensor(uint32_t layer, const char* name);

// Makes the spec by the architecture that the source names, with weights in the source's types. The
// spec points into the source, which must outlive it.
ModelSpec make_spec(const ModelSource& source);
ModelSpec make_spec(const ModelSource& source, const WeightPolicy& policy);
// Makes the spec by `architecture`, whatever the source names. The architecture must outlive the
// spec.
ModelSpec make_spec(const ModelSource& source, const Architecture& architecture);

}  // namespace hearth
