// Opens a path as a model that runs, for the command line and for other programs: source, spec and
// tokenizer, then an engine. All refusals that are possible without weights come before any weight
// is read. Nothing is printed: messages go to a Listener.
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

// Whether a tokenizer is made. For a source without a vocabulary kNeeded throws and kIfThere makes
// none. kNone does not look at vocabularies.
enum class TokenizerUse : uint8_t { kNeeded, kIfThere, kNone };

// The purpose of the model. kText refuses encoders, which give vectors and no text. kShape reads no
// weights, so the files need not hold them (open_model_shape).
enum class ModelUse : uint8_t { kAny, kText, kShape };

struct OpenOptions {
  std::string path;                // the model's path; empty: the demo model
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

// Opens only the tokenizer, for a source of any architecture. Warns if the pre-tokenizer is a
// guess.
std::unique_ptr<Tokenizer> open_tokenizer(const ModelSource& source,
                                          const std::optional<std::string>& pre,
                                          const Listener& listener = {});

// Chooses the types of the weights, if their policy is automatic, for the engines that will be in
// memory at the same time (engine/choose_weights.h). Tells the listener, and replaces the model's
// spec by one with these types.
void settle_weights(OpenedModel* model, const Machine& machine, Isa isa,
                    std::span<const EngineOptions> engines, const Listener& listener = {});

// Loads the model, whose weight types must be settled, and makes an engine. `model` must outlive
// this call. The engine uses the results that `hearth tune` stored for such a model on this
// machine, if the options allow it (EngineOptions::tuned). Tells the listener about that, and about
// a context that had to be lowered.
std::unique_ptr<Engine> start_engine(const OpenedModel& model, const Machine& machine, Isa isa,
                                     const EngineOptions& options, const Listener& listener = {});

// Loads the weights without an engine, as load_model() of engine/engine.h does.
std::shared_ptr<Model> load_model(const OpenedModel& model, const Machine& machine, Isa isa,
                                  const EngineOptions& options, const Listener& listener = {});

// The model that comes with the program (docs/demo-model.md): assets/demo.gguf in the program's
// folder, as in a build folder, or share/hearth/demo.gguf beside that folder, as installed. Throws
// (kUsage) for the field `model` if neither path is a file, and names both paths.
std::filesystem::path find_demo_model(const std::filesystem::path& program_folder);
// Looks in the folder of the running program.
std::filesystem::path find_demo_model();

}  // namespace hearth
