// Opens a model for embeddings, or a reranker, for the verbs that use one: declares its options,
// derives settings from options and file before a weight is read, and loads the devices that
// compute.
//
// Errors: those of the parts (kUsage, kFile, kUnsupported, kResource).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/device_options.h"
#include "cli/interrupts.h"
#include "cli/options.h"
#include "embed/embedder.h"
#include "embed/pair_text.h"
#include "engine/open_model.h"

namespace hearth {

struct EmbedModelArgs {
  std::string model;
  std::optional<std::string> pre, pooling;
  uint32_t batch = kEmbedStepTokens;
  bool no_normalise = false;
  DeviceArgs devices;
  EngineArgs engine;
};
// add_pooling() adds --pooling. add_embed_model_options() adds --pooling, --no-normalize, --batch,
// --pre and the options of devices and engines; the verb adds MODEL itself.
void add_pooling(CLI::App& verb, std::optional<std::string>* pooling);
void add_embed_model_options(CLI::App& verb, EmbedModelArgs* args);

struct EmbedModel {
  OpenedModel model;
  EmbedOptions options;
  EngineOptions engine;                // for every pool
  std::optional<PairText> pairs = {};  // of a reranker

  // Returns the elements of a vector.
  uint32_t width() const { return options.scoring ? 1 : model.spec.hyper.width; }
  // Returns the query for devices: the text's tokens, cut to the context. Costs are predicted from
  // them.
  EmbedQuery query(std::string_view text) const;
};
EmbedModel open_embed_model(const EmbedModelArgs& args);
// Does what open_embed_model() does, with a model that is open already; `args.model` and `args.pre`
// are ignored.
EmbedModel settle_embed_model(OpenedModel model, const EmbedModelArgs& args);
// Prepares a model to score pairs: a reranker scores by its head, any text model by the logits of
// "yes" and "no". Throws (kUnsupported) where the model can do neither, and (kUsage) for devices
// other than processors.
EmbedModel settle_reranker(OpenedModel model, const EmbedModelArgs& args);

// Loads the devices that get a queue, with progress on the terminal. If `interrupts` are given,
// Ctrl-C during loading ends the process. `clock` and the model must outlive the devices.
EmbedSetup load_devices(const EmbedModelArgs& args, EmbedModel& model, const Machine& machine,
                        DeviceClock& clock, Interrupts* interrupts = nullptr);

// Returns how many tokens a text may have: as many as the pools hold or, without a pool, as the
// model's context holds.
uint32_t text_context(const EmbedModel& model, const EmbedSetup& setup);

// Restricts the calling thread, which reads, tokenizes and writes, to PUs on which no pool
// computes, if there are any.
void leave_to_pools(const Machine& machine, const EmbedSetup& setup);

}  // namespace hearth
