// Opens a path as a model that runs, for the command line as for any other program: source, spec
// and tokenizer, then an engine. The order saves time: what can be refused is refused before a
// weight is read. Nothing is printed: a Listener is told.
//
// Errors: those of the parts; a vocabulary that is larger than the embedding table (kFile); an
// encoder where text is wanted (kUnsupported).
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/listener.h"
#include "engine/engine.h"
#include "models/weight_policy.h"
#include "tokenizer/tokenizer.h"

namespace hearth {

// Whether a source without a vocabulary is an error, or its vocabulary is not even looked at.
enum class TokenizerUse : uint8_t { kNeeded, kIfThere, kNone };

// The purpose of the model. An encoder gives vectors and no text. kShape reads no weights, and
// these need not be there (open_model_shape).
enum class ModelUse : uint8_t { kAny, kText, kShape };

struct OpenOptions {
  std::string path;                // of the model; empty: the demo model's
  std::optional<std::string> pre;  // the pre-tokenizer that overrides the source's
  TokenizerUse tokenizer = TokenizerUse::kNeeded;
  ModelUse use = ModelUse::kAny;
  WeightPolicy weights = {};
};

struct OpenedModel {
  ModelSource source;
  ModelSpec spec;                        // points into the source
  std::unique_ptr<Tokenizer> tokenizer;  // null where there is none
};

OpenedModel open_model(const OpenOptions& options, const Listener& listener = {});

// The tokenizer alone, of a source that may be of any architecture. Warns where its pre-tokenizer
// is a guess.
std::unique_ptr<Tokenizer> open_tokenizer(const ModelSource& source,
                                          const std::optional<std::string>& pre,
                                          const Listener& listener = {});

// Chooses the types of the weights, where their policy is automatic, for the engines that are to be
// in memory at the same time (engine/choose_weights.h), says so, and puts the spec that has them in
// the model's.
void settle_weights(OpenedModel* model, const Machine& machine, Isa isa,
                    std::span<const EngineOptions> engines, const Listener& listener = {});

// Loads it; the types of its weights are settled. `model` outlives the making of the engine. It
// works by what `hearth tune` kept for such a model on this machine, where the options allow it
// (EngineOptions::tuned). Warns of that, and of a context that had to be lowered.
std::unique_ptr<Engine> start_engine(const OpenedModel& model, const Machine& machine, Isa isa,
                                     const EngineOptions& options, const Listener& listener = {});

// Loads its model alone, as load_model() of engine/engine.h does.
std::shared_ptr<Model> load_model(const OpenedModel& model, const Machine& machine, Isa isa,
                                  const EngineOptions& options, const Listener& listener = {});

// The model that comes with the program (docs/demo-model.md): assets/demo.gguf in the program's
// folder, as in a build folder, or share/hearth/demo.gguf beside that folder, as installed. Throws
// (kUsage) for the field `model` where neither is a file, and names both.
std::filesystem::path find_demo_model(const std::filesystem::path& program_folder);
// Looks beside the program that runs.
std::filesystem::path find_demo_model();

}  // namespace hearth
