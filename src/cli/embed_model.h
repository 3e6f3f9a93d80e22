// A model that embeds, as the verbs open it which turn texts into vectors, or a reranker: options,
// what they and the file settle before a weight is read, and the devices that compute.
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
// --pooling, --no-normalize, --batch, --pre and the options of devices and engines; MODEL is the
// verb's own.
void add_pooling(CLI::App& verb, std::optional<std::string>* pooling);
void add_embed_model_options(CLI::App& verb, EmbedModelArgs* args);

struct EmbedModel {
  OpenedModel model;
  EmbedOptions options;
  EngineOptions engine;                // of every pool
  std::optional<PairText> pairs = {};  // of a reranker

  // Returns the elements of a vector.
  uint32_t width() const { return options.scoring ? 1 : model.spec.hyper.width; }
  // The text as devices take it to be measured and compared, cut to the context.
  EmbedQuery query(std::string_view text) const;
};
EmbedModel open_embed_model(const EmbedModelArgs& args);
// Settles a model that is open already; of `args`, MODEL and --pre count no more.
EmbedModel settle_embed_model(OpenedModel model, const EmbedModelArgs& args);
// Settles a model that scores pairs: a reranker by its head, any model for text by its logits of
// yes and no. Throws (kUnsupported) where the model can do neither, and (kUsage) for devices but
// processors.
EmbedModel settle_reranker(OpenedModel model, const EmbedModelArgs& args);

// Loads what gets a queue, with words on the terminal. A Ctrl-C meanwhile ends the process, where
// `interrupts` are given. `clock` and the model outlive the devices.
EmbedSetup load_devices(const EmbedModelArgs& args, EmbedModel& model, const Machine& machine,
                        DeviceClock& clock, Interrupts* interrupts = nullptr);

// Tokens that a text may have: what the pools hold, and where there is none what the model would.
uint32_t text_context(const EmbedModel& model, const EmbedSetup& setup);

// Keeps this thread (reading, tokenizing, writing) off the PUs that pools compute on, where others
// are left.
void leave_to_pools(const Machine& machine, const EmbedSetup& setup);

}  // namespace hearth
