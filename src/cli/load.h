// The verbs add this to opening and loading a model (engine/open_model.h): options, and words on
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

// The level of kernels: the best, or what the environment's HEARTH_ISA forces.
Isa environment_isa(const CpuFeatures& features);

// Prints what a user should know, and with `verbose` everything. Shows progress, which the object
// that is returned keeps on the screen. A Ctrl-C meanwhile ends the process, where `interrupts` are
// given: those that the verb will ask.
class ConsoleListener {
 public:
  explicit ConsoleListener(bool verbose, Interrupts* interrupts = nullptr);
  operator const Listener&() const { return listener_; }  // NOLINT(google-explicit-constructor)

 private:
  std::unique_ptr<Progress> progress_;
  Listener listener_;
};

// Opens the model that a verb names, the demo model where it names none.
OpenedModel open_named_model(const std::string& path, const std::optional<std::string>& pre,
                             bool verbose, TokenizerUse tokenizer = TokenizerUse::kNeeded,
                             ModelUse use = ModelUse::kAny, const WeightPolicy& weights = {});
// Opens the model with what the options of an engine say of it.
OpenedModel open_named_model(const std::string& path, const std::optional<std::string>& pre,
                             const EngineArgs& args, TokenizerUse tokenizer = TokenizerUse::kNeeded,
                             ModelUse use = ModelUse::kAny);

// "context 4096, room for 8192 positions of keys and values": what an engine settled on.
std::string context_text(const Engine& engine);

// Tells of an engine, for --verbose, what it is made of, and how much lies where. `seconds`: that
// loading took, where somebody knows.
void tell_loaded(const ModelSource& source, const Machine& machine, const Engine& engine,
                 std::optional<double> seconds);

// Takes over into `options` what `args` say of an engine on this machine, but its context.
void set_engine(const Machine& machine, const EngineArgs& args, EngineOptions* options);

// `options` holds what the verb decides (context, rows, outputs); `args` the rest. Settles the
// types of the model's weights (settle_weights()). Shows progress, and on a terminal or with
// --verbose what was loaded. `interrupts`, where given, are those that the verb will ask; a Ctrl-C
// while loading ends the process.
std::unique_ptr<Engine> load_engine(OpenedModel& model, const EngineArgs& args,
                                    EngineOptions options, Interrupts* interrupts = nullptr);

// How these options would have passes planned.
StreamPlanOptions stream_plan_options(const PromptGpuArgs& args);
// Reads a file that describes an accelerator. Throws (kFile).
MeasuredAccelerator read_accelerator(const std::string& path);
// Returns what these options say of a GPU; a file that describes one is read. Throws (kUsage) where
// they say how prompts are streamed but not through which GPU, (kFile) where the file is none.
PromptStreamOptions prompt_stream_options(const PromptGpuArgs& args);

// Returns the maker of the streamer that computes long prompts beside a service's engine, by these
// options; with `tell_all` it says what was chosen, too. Throws (kUsage) where they say how prompts
// are streamed but not through which GPU.
ServiceOptions::MakeStreamer streamer_maker(const PromptGpuArgs& args, bool tell_all);

// Loads the model into an engine behind a service.
std::unique_ptr<Service> load_service(OpenedModel& model, const EngineArgs& args,
                                      const EngineOptions& options,
                                      Interrupts* interrupts = nullptr,
                                      const ServiceOptions& service_options = {});

// Rows of logits of `tokens` from position `from` on, in order, as the service computes them.
// Throws (kFile) where a value is not a number: the file is damaged, or the model overflows.
using RowCallback = std::function<void(uint32_t position, std::span<const float> logits)>;
void for_each_row(Service& service, const ModelSource& source, std::span<const int32_t> tokens,
                  uint32_t from, const RowCallback& on_row);

}  // namespace hearth
