// ModelSpec: what an architecture says about a model, as data: its layers as lists of blocks, every
// weight with its shape and cut, and the axes that weights are cut along. Sizes, packing,
// placement, graphs, predictions and reports are made from it. It takes no graph and no machine,
// and is made in milliseconds.
//
// Errors: a tensor that is missing or has another shape than the hyper-parameters say (kFile,
// naming it); an architecture, or a tensor of the source, that this program does not know
// (kUnsupported).
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

// An axis of the model along which weights are cut over NUMA nodes, all in the same places.
struct AxisSpec {
  std::string name;         // "heads"
  uint32_t items = 0;       // how many heads, FFN columns or tokens
  uint32_t unit_items = 1;  // cuts lie at multiples of this many items
  // Set for an axis of query heads: the axis of the KV heads that they belong to, in equal groups.
  // It is cut with this one (models/axis_cutting.h), in units that the cutting chooses.
  std::optional<AxisId> kv_axis = {};
  // Columns that an item of an axis of query heads has in the output projection. Cuts lie at
  // multiples of 32 of them.
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
// columns, of which run (g, i) is run i * groups + g of the source, and run g * count + i of the
// pack. length 0: they lie as they are.
struct ColumnRuns {
  uint32_t length = 0, groups = 0, count = 0;
};

// A weight: a whole tensor, or some of its rows, since one tensor may hold the rows of Q, K and V.
struct WeightSpec {
  std::string name;    // its tensor's
  const char* member;  // of its block, as reports name it: "q", "gate"
  int layer;           // -1 outside the layers
  uint32_t rows, k;    // W[rows, k]; a vector is one row
  WeightCut cut;
  AxisId axis = 0;         // that it is cut along
  uint32_t item_size = 0;  // rows or columns that an item of the axis has
  DType dtype = {};        // of the tensor in the source
  // The type that it is packed as: its own, f32, or the one that a WeightPolicy chooses. That and
  // FP8's kind, by where its scales lie (packed_type in formats/source_rows.h), are decided when
  // the spec is finished.
  PackedType packed = dtype;
  bool widened = false;  // it is packed as f32 whatever it is stored as
  // The tensor in the source, which must live until the model is loaded.
  const SourceTensor* data = nullptr;
  // The place in `data` where it begins: a row of a matrix, an element of a vector.
  uint32_t first = 0;
  // The order of its columns that products gather their input in, and that of its rows, of which
  // row r is row first + row_order[r] of `data`; null where they lie as they are (column_orders.h).
  ColumnOrder input_order = {}, row_order = {};
  ColumnRuns column_runs = {};
  // The elements of a row, for a vector that is a table in `data` and is held by columns; 0: it is
  // no table.
  uint32_t table_columns = 0;
  int expert = -1;  // the expert that it belongs to; -1: none
  float scale = 1;  // factor of all its elements; not 1 only for NVFP4 (SpecBuilder)
  // The weights of the columns of `data` where a policy quantises it; none: all weigh the same. The
  // policy keeps it.
  const ImportanceEntry* importance = nullptr;

  // Returns the weight's own bytes of `data`, which has no runs.
  std::span<const std::byte> bytes() const;
  bool is_matrix() const { return cut != WeightCut::kVector; }
};

// The rows that a layer keeps of every position from step to step, and the axis that they are cut
// along.
struct KeptRows {
  uint32_t key_length = 0, value_length = 0;
  AxisId axis = 0;  // of KV heads; of latents, of which every shard with heads has a copy, of heads
  bool latent = false;
  uint32_t window = 0;  // that rows see, their own position included; 0: all before them
};
// Returns the kind of a layer's rows in a model with this ModelSpec::kept_window().
constexpr KvKind kv_kind(uint32_t kept_window, const KeptRows& rows) {
  return kept_window > 0 && rows.window > 0 ? KvKind::kWindow : KvKind::kFull;
}

// The floats of the state that a layer keeps of all positions so far for each item of an axis
// (DeltaShape says where what lies).
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
  std::optional<NormRef> last_norm;  // of the stream; none where a layer's own norm ends it
  WeightId head;                     // what gives logits; none where a model gives none
  float logit_cap = 0;               // a soft cap of these (SoftCapArgs); 0: none
  std::optional<ScoreBlock> score;   // of a reranker that has its own
  std::vector<WeightSpec> weights;   // in the order in which they were declared
  WeightPolicy policy;               // decides what the weights are packed as
  std::vector<std::string> notes;    // sentences on what a user should know of how they are packed

  const WeightSpec& weight(WeightId id) const { return weights[id.index]; }
  // The layer's first block of that kind, or nullptr.
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
  // Whether `is` holds for any block of that kind.
  template <typename Body, typename Is>
  bool any(const Is& is) const {
    for (uint32_t layer = 0; layer < layers.size(); ++layer) {
      const Body* body = block<Body>(layer);
      if (body != nullptr && is(*body)) return true;
    }
    return false;
  }
  // Both return none where the layer keeps nothing.
  std::optional<KeptRows> kept(uint32_t layer) const;
  std::optional<KeptState> kept_state(uint32_t layer) const;
  // Whether any layer keeps a state.
  bool has_states() const;
  // The axis of the layer's query heads, where it has attention.
  std::optional<AxisId> head_axis(uint32_t layer) const;
  // Returns how many experts a layer with experts has; 0: no layer has any.
  uint32_t expert_count() const;
  // Whether any layer keeps keys and values from step to step.
  bool has_kv_cache() const;
  // The longest window of the layers that keep keys and values of one, where other layers keep
  // those of all positions; 0: all layers keep all.
  uint32_t kept_window() const;
  // Whether any layer keeps latents in place of keys and values.
  bool has_latents() const { return first<LatentBlock>() != nullptr; }
  // Whether a row sees what comes after it: such a model gives vectors and no text.
  bool is_encoder() const;
  // Whether the model scores pairs of texts: it has a head for that, or its file says so (`rank`).
  bool is_reranker() const;
  // Bytes of all matrices in the source.
  uint64_t matrix_bytes() const;
};

// The tensor `blk.<layer>.<name>`.
std::string layer_tensor(uint32_t layer, const char* name);

// Makes the spec by the architecture that the source names, with weights in the source's types. The
// spec points into the source.
ModelSpec make_spec(const ModelSource& source);
ModelSpec make_spec(const ModelSource& source, const WeightPolicy& policy);
// Does the same by `architecture`, whatever the source names. It must outlive the spec.
ModelSpec make_spec(const ModelSource& source, const Architecture& architecture);

}  // namespace hearth
