// From a model's file to what the verbs work with: tokenizer, context, engine. The order saves the
// user's time: what can be refused is refused before a weight is read.
// Errors: those of the parts, and the ones named below.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/interrupts.h"
#include "cli/options.h"
#include "engine/service.h"
#include "formats/gguf.h"
#include "text/tokenizer.h"
#include "topology/cpu_features.h"

namespace hearth {

// The level of kernels: the best, or what the environment's HEARTH_ISA forces.
Isa environment_isa(const CpuFeatures& features);

// The hyper-parameters of a model that this version can run.
DecoderConfig read_model_config(const GgufFile& file);

// Prints the tokenizer's warnings where asked to, and where its pre-tokenizer is a guess: text
// would be cut otherwise than the model learnt it.
std::unique_ptr<Tokenizer> load_tokenizer(const GgufFile& file,
                                          const std::optional<std::string>& pre, bool verbose);
// Throws (kFile) where the model has no rows for some of the tokens.
void check_vocabulary(const GgufFile& file, const Tokenizer& tokenizer,
                      const DecoderConfig& config);

// What --verbose tells of an engine: what it is made of, and how much lies where. `seconds`: that
// loading took, where somebody knows.
void tell_loaded(const GgufFile& file, const Machine& machine, const Engine& engine,
                 std::optional<double> seconds);

// Takes over into `options` what `args` say of an engine on this machine, but its context.
void set_engine(const Machine& machine, const EngineArgs& args, EngineOptions* options);

// `options` holds what the verb decides (context, rows, outputs); `args` the rest. Shows progress,
// and on a terminal or with --verbose what was loaded. `interrupts`, where given, are those that
// the verb will ask; a Ctrl-C while loading ends the process.
std::unique_ptr<Engine> load_engine(const GgufFile& file, const EngineArgs& args,
                                    EngineOptions options, Interrupts* interrupts = nullptr);

// The same behind a service. `tokenizer` may be null.
std::unique_ptr<Service> load_service(const GgufFile& file, const EngineArgs& args,
                                      const EngineOptions& options, const Tokenizer* tokenizer,
                                      Interrupts* interrupts = nullptr);

// Rows of logits of `tokens` from position `from` on, in order, as the service computes them.
// Throws (kFile) where a value is not a number: the file is damaged, or the model overflows.
using RowCallback = std::function<void(uint32_t position, std::span<const float> logits)>;
void for_each_row(Service& service, const GgufFile& file, std::span<const int32_t> tokens,
                  uint32_t from, const RowCallback& on_row);

}  // namespace hearth
