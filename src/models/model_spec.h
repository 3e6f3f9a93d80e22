// ModelSpec: what an architecture says about a model, as data: the axes that weights are cut along,
// every weight with its role, shape and cut, and each layer's attention with the layout of its keys
// and values. Sizes, packing, placement, graphs, predictions and reports are made from it. It takes
// no graph and no machine, and is made in milliseconds.
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
#include <vector>

#include "formats/model_source.h"
#include "graph/ops/attention.h"
#include "graph/ops/linear.h"
#include "graph/ops/reduce.h"
#include "models/hyper_parameters.h"

namespace hearth {

struct Architecture;

// Index into ModelSpec::axes.
using AxisId = uint32_t;

// An axis of the model along which weights are cut over NUMA nodes, all in the same places.
struct AxisSpec {
  std::string name;         // "heads"
  uint32_t items = 0;       // heads, FFN columns, tokens
  uint32_t unit_items = 1;  // cuts lie at multiples of so many items
  // Set for an axis of query heads: the axis of the KV heads that they belong to, in equal groups.
  // It is cut with this one (models/axis_cutting.h), in units that the cutting chooses.
  std::optional<AxisId> kv_axis = {};
  // Columns that an item of an axis of query heads has in the output projection. Cuts lie at
  // multiples of 32 of them.
  uint32_t item_columns = 1;
};

enum class WeightRole : uint8_t {
  kEmbedding,
  kQuery,
  kKey,
  kValue,
  kAttentionOutput,
  kQueryDown,   // low-rank queries, of which kQuery makes the heads'
  kLatentDown,  // latents, and the part of the keys behind them that all heads share
  kKeyUp,       // of a latent, the heads' keys; transposed
  kValueUp,     // of a latent, the heads' values
  kGate,
  kUp,
  kDown,
  kHead,  // missing where the embedding table is the head too, and in encoders
  kRouter,
  kSharedGate,  // of the expert that every token takes
  kSharedUp,
  kSharedDown,
  kPositions,  // a row for each position
  kTokenType,  // the row of the only token type that occurs
  kQueryBias,
  kKeyBias,
  kValueBias,
  kAttentionOutputBias,
  kGateBias,
  kUpBias,
  kDownBias,
  kRouterBias,  // for choosing experts
  kQueryDownNorm,
  kLatentNorm,
  kQueryNorm,
  kQueryNormBias,
  kKeyNorm,
  kKeyNormBias,
  // Norms of the model's width, each with its bias behind it.
  kEmbeddingNorm,
  kEmbeddingNormBias,
  kAttentionNorm,
  kAttentionNormBias,
  kSecondNorm,  // of the attention's norm and its input (jina-bert-v2 for code)
  kSecondNormBias,
  kFfnNorm,
  kFfnNormBias,
  kFinalNorm,
  kFinalNormBias,
};
// "q", "gate", "head": as reports name matrices; "" for vectors.
const char* role_name(WeightRole role);
// The bias of a norm.
WeightRole bias_of(WeightRole norm);

// How a weight lies on the shards' nodes.
enum class WeightCut : uint8_t {
  kRows,        // every shard has rows of it and computes its own outputs
  kColumns,     // every shard has columns of it and computes partial sums of all outputs
  kReplicated,  // a matrix that every shard has a copy of: each group computes all outputs
  kVector,      // a small vector in f32: every shard has a copy
};

// All of a tensor, or as many of its rows as are the weight's: Q, K and V may stand above each
// other in one.
struct WeightSpec {
  std::string name;  // its tensor's
  WeightRole role;
  int layer;         // -1 outside the layers
  uint32_t rows, k;  // W[rows, k]; a vector is one row
  WeightCut cut;
  AxisId axis = 0;         // that it is cut along
  uint32_t item_size = 0;  // rows or columns that an item of the axis has
  DType dtype;             // in the source
  // What it is packed as: its own type, or f32. FP8 whose scales do not fit panels becomes f32
  // when the spec is finished (packed_type in formats/source_rows.h).
  DType packed = dtype;
  // In the source, which outlives its use: a model needs it no more when it is loaded.
  const SourceTensor* data = nullptr;
  // Where it begins in `data`: a matrix at a row, a vector at an element.
  uint32_t first = 0;
  int expert = -1;  // whose it is; -1: of all rows

  // Its own bytes of `data`, which has no runs.
  std::span<const std::byte> bytes() const;
  bool is_matrix() const { return cut != WeightCut::kVector; }
};

// A layer's attention, and how its keys and values are kept.
struct LayerSpec {
  uint32_t heads = 0, kv_heads = 0;
  uint32_t key_length = 0, value_length = 0;  // of a head
  uint32_t window = 0;                        // sliding window; 0: none
  float scale = 0;                            // of scores
  Mask mask = Mask::kCausal;
  KvKept kept = KvKept::kCached;
  // Multi-head latent attention (graph/ops/latent.h): elements of the latents, and of the part of
  // the keys behind them, that are kept in place of keys and values; 0: none.
  uint32_t latent_length = 0, turned_length = 0;

  uint32_t cached_key_length() const {
    return latent_length > 0 ? latent_length + turned_length : key_length;
  }
  uint32_t cached_value_length() const { return latent_length > 0 ? 0 : value_length; }
  uint32_t group_size() const { return heads / kv_heads; }
};

// The norms of a model's width.
struct NormSpec {
  NormKind kind = NormKind::kRms;
  NormPlace place = NormPlace::kBeforeBlock;
};

struct ModelSpec {
  const Architecture* architecture = nullptr;
  std::string source;  // its name, for messages
  HyperParameters hyper;
  NormSpec norm;
  Activation activation = Activation::kSilu;  // of the FFN
  std::vector<AxisSpec> axes;
  AxisId vocabulary_axis = 0;
  std::vector<LayerSpec> layers;
  std::vector<WeightSpec> weights;  // in the order in which they were declared

  // The weight, or nullptr; of experts the first one's.
  const WeightSpec* find(int layer, WeightRole role) const;
  // The one that gives logits: the head, or the embedding table.
  const WeightSpec& head() const;
  // Whether any layer keeps keys and values from step to step.
  bool has_kv_cache() const;
  // Whether any layer keeps latents in place of keys and values.
  bool has_latents() const;
  // Whether a row sees what comes after it: such a model gives vectors and no text.
  bool is_encoder() const;
  // Bytes of all matrices in the source.
  uint64_t matrix_bytes() const;
};

// Takes the architecture that the source names. The spec points into the source.
ModelSpec make_spec(const ModelSource& source);
// Takes this one, whatever the source names. `architecture` must outlive the spec.
ModelSpec make_spec(const ModelSource& source, const Architecture& architecture);

// An architecture describes a model with it.
class SpecBuilder {
 public:
  SpecBuilder(const ModelSource& source, HyperParameters hyper);

  const ModelSource& source() const { return source_; }
  // An architecture may change them before it declares anything.
  HyperParameters& hyper() { return spec_.hyper; }
  NormSpec& norm() { return spec_.norm; }
  void set_activation(Activation activation) { spec_.activation = activation; }

  AxisId axis(AxisSpec axis);
  void set_vocabulary_axis(AxisId axis) { spec_.vocabulary_axis = axis; }

  // Along `axis`, an item of which has `item_size` rows (kRows) or columns (kColumns).
  void matrix(WeightRole role, int layer, std::string name, uint32_t rows, uint32_t k,
              WeightCut cut, AxisId axis, uint32_t item_size);
  // Rows [first, first + rows) of a tensor that has `all_rows`.
  void matrix_part(WeightRole role, int layer, std::string name, uint32_t rows, uint32_t k,
                   AxisId axis, uint32_t item_size, uint32_t first, uint32_t all_rows);
  // W[rows, k] of every item of `axis`, one above the other; the tensor's third dimension counts
  // them.
  void stacked(WeightRole role, int layer, std::string name, uint32_t rows, uint32_t k,
               AxisId axis);
  // A matrix without a cut: every shard has a copy. With `widened`, packed as f32.
  void replicated(WeightRole role, int layer, std::string name, uint32_t rows, uint32_t k,
                  bool widened = false);
  // Matrices of every expert of the model: each W[rows, k], from row `first_row` on of the
  // `all_rows` that an expert has in a tensor whose third dimension counts experts. Along `axis`,
  // of which an item is one row or column.
  struct ExpertMatrix {
    WeightRole role;
    std::string name;
    uint32_t rows, k;
    WeightCut cut;
    uint32_t first_row, all_rows;
  };
  void experts(int layer, AxisId axis, const std::vector<ExpertMatrix>& matrices);
  void vector(WeightRole role, int layer, std::string name, uint32_t size);
  // The same where the source has it.
  void vector_if_there(WeightRole role, int layer, std::string name, uint32_t size);
  // Elements [first, first + size) of a tensor of `dims`.
  void vector_part(WeightRole role, int layer, std::string name, uint32_t size, uint32_t first,
                   const std::vector<uint64_t>& dims);
  void layer(const LayerSpec& layer) { spec_.layers.push_back(layer); }

  // Throws (kUnsupported) naming a tensor of the source that nothing declared: a model that has
  // weights which this program ignores would give wrong text.
  ModelSpec finish(const Architecture& architecture) &&;

 private:
  const SourceTensor& tensor(const std::string& name, const std::vector<uint64_t>& dims) const;
  bool is_skipped(std::string_view name) const;
  void check_all_used() const;
  void settle_types();

  const ModelSource& source_;
  ModelSpec spec_;
};

// The tensor `blk.<layer>.<name>`.
std::string layer_tensor(uint32_t layer, const char* name);

}  // namespace hearth
