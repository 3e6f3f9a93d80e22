// The blocks of a model as commands of an accelerator, for one step whose texts are whole: the
// second builder beside that for the cores (models/core_graph.h), with the same bits. Sums and
// norms are made in the orders that graph/ops have; each shard's columns are partial sums of their
// own, so that a model that is cut gives what the cores give of it.
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

// Says why no pass computes such a model; empty: one does. An encoder's attention, that of decoders
// that keep nothing, and feed-forward layers are computed; neither keys and values that are cached,
// nor latents, experts, or orders of columns. Passes that fill pages compute latents and experts.
std::string why_no_pass(const ModelSpec& spec);

// Whether a layer has weights that cores with BF16 instructions multiply by these.
bool layers_take_bf16(const ModelSpec& spec);

// Says why no pass fills pages for such a model (prefill_pass.h); empty: one does.
std::string why_no_prefill(const ModelSpec& spec);
// Whether they then have other bits than cores of this level give: those of levels without
// instructions for BF16.
bool pass_has_own_bits(const ModelSpec& spec, Isa isa);

// Whether a layer's, and no table or head, which prompts that are streamed leave to the cores.
bool in_a_layer(const WeightSpec& weight);
// Whether it is a matrix that is multiplied with activations in BF16.
bool takes_bf16(const WeightSpec& weight);

// The pages that a pass fills, and by item of its step the first one.
struct PrefillPages {
  const PassPages* pages;
  std::span<const uint32_t> first_pages;
};

class AcceleratorLayers : public BlockBuilder {
 public:
  // All arguments must outlive it, and what the step points at must outlive its commands' inputs.
  // The step has no rows of logits. `context`: the most positions of a sequence. With `pages`, keys
  // and values are written there and attention reads them from there; nothing else is computed
  // then: of the last layer neither attention nor anything after it.
  AcceleratorLayers(const PassWeights& weights, uint32_t context, const StepView& step,
                    PassCommands* commands, const PrefillPages* pages = nullptr);

  Reduced embed(const EmbeddingBlock& embedding, const std::optional<NormRef>& before) override;
  Partials block(uint32_t layer, const Block& block, const Reduced& stream) override;
  Reduced join(const Reduced& stream, const Partials& result, const Block& block,
               const Next& next) override;
  void logits(const Bundle&, WeightId) override {}

  // Returns the last norm of all of the step's rows.
  FloatRows last() const { return values_[last_].rows; }

 private:
  friend class LatentCommands;  // accelerator_latent.cc

  struct Value {
    FloatRows rows;
    uint32_t width = 0;
    std::map<ActFormat, ActRows> formats = {};  // that it was brought into
  };
  // A shard's heads of an attention: its query heads, and the KV heads that these read.
  struct Heads {
    UnitRange queries, kv;
  };

  ValueId add_value(uint32_t width);
  ValueId add_value(const FloatRows& rows, uint32_t width);
  // Brings it into that format, if it was not; returns whether it was.
  bool bring(ValueId x, ActFormat format);
  FloatRows head_rows(ValueId x, uint32_t head, uint32_t length) const;
  // The product with all of shard s, and its value; `fresh`: x is only now in the format that it is
  // multiplied in, which is to be waited for.
  struct Product {
    GemmCall call;
    ValueId out;
    bool fresh;
  };
  Product product(ValueId x, const Weight& weight, uint32_t s);
  static GateKind gate_kind(Activation activation);
  // Multiplies without adding the bias.
  ValueId linear(ValueId x, const LinearRef& by, uint32_t s, bool ordered);
  // Adds the bias, if there is one, which is ordered behind all before it where `*ordered` says so;
  // then it no longer does.
  void add_bias(const LinearRef& by, uint32_t s, ValueId out, bool* ordered);
  // The partial sums of shard s of a column-cut weight, whose columns x is.
  void add_partial(Partials* partials, ValueId x, const Weight& weight, uint32_t s);
  Partials partials_of(const LinearRef& by) const;

  // Rows of a table by place, a uint32_t each.
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
  // A layer of experts under way: who goes where, as a RouteCall and a GroupCall tell it.
  struct Routed {
    const ExpertsBlock& block;
    std::vector<ExpertWeights> experts;
    ValueId input;
    Place chosen, weights, place, row, first;
  };
  Routed route(const ExpertsBlock& block, ValueId input);
  // The results of a shard's experts for rows, by place: room for as many as may come to a batch.
  struct ExpertRooms {
    FloatRows gate, up, out;
    Place hidden;  // in the format that down is multiplied in
  };
  ExpertRooms rooms_for(const Routed& of, std::span<const ExpertBatch> batches, uint32_t s);
  // Adds what a batch's experts make of rows onto a sum, which begins with them or not.
  void add_batch(const Routed& of, const ExpertRooms& rooms, const ExpertBatch& batch, ValueId sum,
                 bool begins);
  // Does as add_batch() for some experts of the batch: batch.experts[which], whose numbers follow
  // each other.
  void add_experts(const Routed& of, const ExpertRooms& rooms, const ExpertBatch& batch,
                   const UnitRange& which, ValueId sum, bool begins);
  uint32_t room_of(const Routed& of, uint32_t experts) const;
  Partials no_partials(const ExpertsBlock& block) const;
  PartialTree shared_expert(const ExpertsBlock& block, ValueId input);
  // The upper two become their sum, in the place of the lower.
  void merge(std::vector<ValueId>* sums);
  ValueId attend(const AttentionBlock& block, const Heads& heads, ValueId q, ValueId k, ValueId v);
  void store(const AttentionBlock& block, const Projected& of);
  ValueId attend_pages(const AttentionBlock& block, const Projected& of);
  bool is_last_layer() const { return layer_ + 1 == weights_.model().spec().layers.size(); }
  void turn(const AttentionBlock& block, ValueId x, uint32_t heads);
  void norm_heads(const NormRef& by, ValueId x, uint32_t heads, uint32_t length);
  // A shard's part of rows whose heads are normed together.
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
  uint32_t layer_ = 0;   // under way
  bool filled_ = false;  // the pages of all layers
  Place slots_;          // of the rows in their pages
  std::vector<Value> values_;
  std::vector<std::pair<const RopeParams*, Place>> angles_;  // of the step: cosines, then sines
  std::map<std::pair<Mask, uint32_t>, Place> seen_;          // by mask and window
  // Inputs that all layers with latents share, once one needs them.
  struct LatentInputs {
    Place sees, numbers, minus_zeros;
  };
  LatentInputs latent_inputs_;
  ValueId last_ = 0;
};

}  // namespace hearth
