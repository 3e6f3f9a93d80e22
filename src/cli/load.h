// Opens and loads models for the verbs (engine/open_model.h), by their options and with messages on
// the terminal. Errors: those of the parts, and the ones named below.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/progress.h"
#include "cli/interrupts.h"
#include "cli/options.h"
#include "engine/open_model.h"
#include "engine/prompt_stream.h"
#include "engine/service.h"
#include "topology/cpu_features.h"

namespace hearth {

// Returns the kernels' level: the best of the processor, or the one that HEARTH_ISA forces.
Isa environment_isa(const CpuFeatures& features);

// A Listener that prints warnings, and with `verbose` details, and shows progress while it lives.
// If `interrupts` are given, Ctrl-C ends the process while the object lives.
class ConsoleListener {
 public:
  explicit ConsoleListener(bool verbose, Interrupts* interrupts = nullptr);
  operator const Listener&() const { return listener_; }  // NOLINT(google-explicit-constructor)

 private:
  std::unique_ptr<Progress> progress_;
  Listener listener_;
};

// Opens the model that the user named, or the demo model if the user named none.
OpenedModel open_named_model(const std::string& path, const std::optional<std::string>& pre,
                             bool verbose, TokenizerUse tokenizer = TokenizerUse::kNeeded,
                             ModelUse use = ModelUse::kAny, const WeightPolicy& weights = {});
// Does the same with the engine's options about weights.
OpenedModel open_named_model(const std::string& path, const std::optional<std::string>& pre,
                             const EngineArgs& args, TokenizerUse tokenizer = TokenizerUse::kNeeded,
                             ModelUse use = ModelUse::kAny);

// Returns the text "context 4096, room for 8192 positions of keys and values" for an engine.
std::string context_text(const Engine& engine);

// Prints for --verbose what an engine consists of, and how much memory lies where. `seconds` is the
// loading time, if known.
void print_loaded(const ModelSource& source, const Machine& machine, const Engine& engine,
                  std::optional<double> seconds);

// Sets `options` from `args` for this machine, except the context.
void set_engine(const Machine& machine, const EngineArgs& args, EngineOptions* options);

// Loads a model. `options` holds the verb's decisions (context, rows, outputs), `args` the rest.
// Decides the types of the model's weights (settle_weights()). Shows progress, and on a terminal or
// with --verbose what was loaded. If `interrupts` are given, Ctrl-C while loading ends the process.
std::unique_ptr<Engine> load_engine(OpenedModel& model, const EngineArgs& args,
                                    EngineOptions options, Interrupts* interrupts = nullptr);

// Returns the options of planning passes on the GPU.
StreamPlanOptions stream_plan_options(const PromptGpuArgs& args);
// Reads the description of an accelerator from a file. Throws (kFile).
MeasuredAccelerator read_accelerator(const std::string& path);
// Returns the options of streaming prompts through a GPU; reads the file that describes one, if
// given. Throws (kUsage) for options of streaming without a GPU, (kFile) for an invalid file.
PromptStreamOptions prompt_stream_options(const PromptGpuArgs& args);

// Returns a function that makes the streamer for long prompts beside a service's engine; with
// `print_all` it also prints what was chosen. Throws (kUsage) for options of streaming without a
// GPU.
ServiceOptions::MakeStreamer streamer_maker(const PromptGpuArgs& args, bool print_all);

// Loads the model into an engine with a service.
std::unique_ptr<Service> load_service(OpenedModel& model, const EngineArgs& args,
                                      const EngineOptions& options,
                                      Interrupts* interrupts = nullptr,
                                      const ServiceOptions& service_options = {});

// Calls `on_row` with the logits of each of `tokens` from position `from` on, in order. Throws
// (kFile) where a value is NaN: the file is damaged, or the model overflows.
using RowCallback = std::function<void(uint32_t position, std::span<const float> logits)>;
void for_each_row(Service& service, const ModelSource& source, std::span<const int32_t> tokens,
                  uint32_t from, const RowCallback& on_row);

}  // namespace hearth
