// Turns the blocks of a model into commands of an accelerator, for one step whose texts are whole.
// It is the second such builder, beside the one for the cores (models/core_graph.h), and gives the
// same bits. It makes sums and norms in the orders of graph/ops. Each shard's columns are partial
// sums of their own, so a model that is cut into shards also gives the bits of the cores.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graph/step_view.h"
#include "hybrid/expert_batches.h"
#include "hybrid/pass_commands.h"
#include "hybrid/pass_pages.h"
#include "hybrid/pass_weights.h"
#include "models/walk.h"
#include "topology/cpu_features.h"

namespace hearth {

// Says why no pass without pages computes such a model; empty: a pass can. Such passes compute
// feed-forward layers and attention that keeps nothing, in encoders and decoders. They compute no
// cached keys and values, latents, experts or orders of columns. Passes that fill pages compute
// latents and experts.
std::string why_no_pass(const ModelSpec& spec);

// Whether a layer has weights for which cores with BF16 instructions use these instructions.
bool layers_take_bf16(const ModelSpec& spec);

// Says why no pass with pages (prefill_pass.h) computes such a model; empty: a pass can.
std::string why_no_prefill(const ModelSpec& spec);
// Whether a pass fills pages with other bits than cores of this level would. It does if the level
// has BF16 instructions and a layer uses them: a pass gives the bits of levels without these
// instructions.
bool pass_has_own_bits(const ModelSpec& spec, Isa isa);

// Whether the weight belongs to a layer. Embedding tables and heads do not: when prompts are
// streamed, only the cores use those.
bool in_a_layer(const WeightSpec& weight);
// Whether the weight is a matrix that is multiplied with activations in BF16.
bool takes_bf16(const WeightSpec& weight);

// The pages that a pass fills, and the first page of each item of its step.
struct PrefillPages {
  const PassPages* pages;
  std::span<const uint32_t> first_pages;
};

class AcceleratorLayers : public BlockBuilder {
 public:
  // All arguments must outlive this object. What the step points at must outlive the writing of the
  // commands' inputs. The step has no rows of logits. `context`: the most positions of a sequence.
  // With `pages`, keys and values are written to these pages and attention reads them from there.
  // The last layer then ends with its keys and values: neither its attention nor anything after it
  // is computed.
  AcceleratorLayers(const PassWeights& weights, uint32_t context, const StepView& step,
                    PassCommands* commands, const PrefillPages* pages = nullptr);

  Reduced embed(const EmbeddingBlock& embedding, const std::optional<NormRef>& before) override;
  Partials block(uint32_t layer, const Block& block, const Reduced& stream) override;
  Reduced join(const Reduced& stream, const Partials& result, const Block& block,
               const Next& next) override;
  void logits(const Bundle&, WeightId) override {}

  // Returns the result of the model's last norm, for all rows of the step.
  FloatRows last() const { return values_[last_].rows; }

 private:
  friend class LatentCommands;  // accelerator_latent.cc

  struct Value {
    FloatRows rows;
    uint32_t width = 0;
    std::map<ActFormat, ActRows> formats = {};  // the rows in the formats made so far
  };
  // A shard's heads of an attention: its query heads, and the KV heads that these read.
  struct Heads {
    UnitRange queries, kv;
  };

  ValueId add_value(uint32_t width);
  ValueId add_value(const FloatRows& rows, uint32_t width);
  // Quantises `x` to that format unless that was done before. Returns whether it had been done.
  bool bring(ValueId x, ActFormat format);
  FloatRows head_rows(ValueId x, uint32_t head, uint32_t length) const;
  // A product with shard s of a weight, and the value of its result. `fresh`: x was quantised only
  // now, so the product must be ordered after that command.
  struct Product {
    GemmCall call;
    ValueId out;
    bool fresh;
  };
  Product product(ValueId x, const Weight& weight, uint32_t s);
  static GateKind gate_kind(Activation activation);
  // Multiplies, and leaves the bias out.
  ValueId linear(ValueId x, const LinearRef& by, uint32_t s, bool ordered);
  // Adds the bias, if there is one. Where `*ordered` is true, the addition is ordered after all
  // commands before it, and `*ordered` becomes false.
  void add_bias(const LinearRef& by, uint32_t s, ValueId out, bool* ordered);
  // Adds the partial sums of shard s of a column-cut weight; x has the shard's columns.
  void add_partial(Partials* partials, ValueId x, const Weight& weight, uint32_t s);
  Partials partials_of(const LinearRef& by) const;

  // Returns rows of a table; `rows_of` is the place of their numbers, a uint32_t each.
  ValueId table_rows(const Weight& table, Place rows_of, float scale);
  ValueId embedded_by_host(const EmbeddingBlock& embedding);
  void add_types(const EmbeddingBlock& embedding, ValueId x);

  // A shard's queries, keys and values of an attention.
  struct Projected {
    uint32_t shard;
    Heads heads;
    ValueId q, k, v;
  };
  Projected project(const AttentionBlock& block, ValueId input, uint32_t s);
  void finish(const AttentionBlock& block, const Projected& of, Partials* partials);
  Partials make(const AttentionBlock& block, ValueId input);
  Partials make(const LatentBlock& block, ValueId input);
  Partials make(const FeedForwardBlock& block, ValueId input);
  Partials make(const ExpertsBlock& block, ValueId input);
  // A layer of experts whose commands are being made, with the results of its RouteCall and
  // GroupCall (kernel_calls.h).
  struct Routed {
    const ExpertsBlock& block;
    std::vector<ExpertWeights> experts;
    ValueId input;
    Place chosen, weights, place, row, first;
  };
  Routed route(const ExpertsBlock& block, ValueId input);
  // The memory for what a shard's experts compute. It has room for the most rows that a batch may
  // get.
  struct ExpertRooms {
    FloatRows gate, up, out;
    Place hidden;  // in the format of down's activations
  };
  ExpertRooms rooms_for(const Routed& of, std::span<const ExpertBatch> batches, uint32_t s);
  // Adds the results of a batch's experts to a sum. `begins`: they are the first ones in it.
  void add_batch(const Routed& of, const ExpertRooms& rooms, const ExpertBatch& batch, ValueId sum,
                 bool begins);
  // Does that for some experts of the batch: batch.experts[which], whose numbers must have no gap.
  void add_experts(const Routed& of, const ExpertRooms& rooms, const ExpertBatch& batch,
                   const UnitRange& which, ValueId sum, bool begins);
  uint32_t room_of(const Routed& of, uint32_t experts) const;
  Partials no_partials(const ExpertsBlock& block) const;
  PartialTree shared_expert(const ExpertsBlock& block, ValueId input);
  // Adds up the last two sums. The result replaces both.
  void merge(std::vector<ValueId>* sums);
  ValueId attend(const AttentionBlock& block, const Heads& heads, ValueId q, ValueId k, ValueId v);
  void store(const AttentionBlock& block, const Projected& of);
  ValueId attend_pages(const AttentionBlock& block, const Projected& of);
  bool is_last_layer() const { return layer_ + 1 == weights_.model().spec().layers.size(); }
  void turn(const AttentionBlock& block, ValueId x, uint32_t heads);
  void norm_heads(const NormRef& by, ValueId x, uint32_t heads, uint32_t length);
  // One shard's heads in rows whose norm spans the heads of all shards.
  struct HeadRows {
    ValueId x;
    UnitRange heads;
  };
  void norm_rows(const NormRef& by, const std::vector<HeadRows>& parts, uint32_t heads,
                 uint32_t length);

  ValueId norm(ValueId x, const NormRef& by);
  ValueId add(ValueId a, ValueId b, Place bias = {});
  ValueId sum_of(const Partials& partials);
  Place angles_of(const RopeParams& rope);
  Place rows_seen(Mask mask, uint32_t window);
  Place slots();

  const PassWeights& weights_;
  const uint32_t context_;
  const StepView step_;
  PassCommands& commands_;
  const PrefillPages* pages_;
  uint32_t layer_ = 0;   // the layer whose commands are being made
  bool filled_ = false;  // whether all commands that fill pages are made
  Place slots_;          // the rows' slots in their pages; no place until needed
  std::vector<Value> values_;
  std::vector<std::pair<const RopeParams*, Place>> angles_;  // of the step: cosines, then sines
  std::map<std::pair<Mask, uint32_t>, Place> seen_;          // by mask and window
  // Inputs that all layers with latents share; each is made when a layer first needs it.
  struct LatentInputs {
    Place sees, numbers, minus_zeros;
  };
  LatentInputs latent_inputs_;
  ValueId last_ = 0;
};

}  // namespace hearth
