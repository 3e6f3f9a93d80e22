// Helpers by which verbs declare and check their options. A value that is not a number or out of
// range becomes a parse error that names option, value and range.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/cli11.h"
#include "cli/plan_options.h"
#include "models/weight_policy.h"

namespace hearth {

// Adds an option that takes a whole number from `low` to `high`; the range is added to `help`.
CLI::Option* add_count(CLI::App& verb, const std::string& names, uint32_t* value, uint32_t low,
                       uint32_t high, const std::string& help);
// Adds an option that takes a list of such numbers: 1,2,4. Its values replace those in `values`.
CLI::Option* add_counts(CLI::App& verb, const std::string& names, std::vector<uint32_t>* values,
                        uint32_t low, uint32_t high, const std::string& help);
CLI::Option* add_seed(CLI::App& verb, std::optional<uint64_t>* seed);
// Adds an option that takes a number of bytes, such as 512MiB or 1.5G; K, M, G and T are powers of
// 1024.
CLI::Option* add_size(CLI::App& verb, const std::string& names, uint64_t* bytes,
                      const std::string& help);
// Adds an option that takes one of `choices`; they are added to `help`.
CLI::Option* add_choice(CLI::App& verb, const std::string& names, std::string* value,
                        const std::vector<std::string>& choices, const std::string& help);
// Adds an option that takes any number; the caller checks the range.
CLI::Option* add_real(CLI::App& verb, const std::string& names, float* value,
                      const std::string& help);

// Adds an option that takes a text of `type`, which may be empty.
CLI::Option* add_text(CLI::App& verb, const std::string& names, std::optional<std::string>* value,
                      const char* type, const std::string& help);

// Adds an option that takes any model: its value becomes the path of the model named
// (cli/model_names.h).
void add_model(CLI::App& verb, std::string* model);
// Adds an option that takes any model, or none: then the verb uses the demo model
// (engine/open_model.h). With kByVerb the verb finds or fetches the model itself
// (fetch_named_model() in cli/model_names.h).
enum class ModelFetch : uint8_t { kNever, kByVerb };
CLI::Option* add_model_or_demo(CLI::App& verb, std::string* model,
                               ModelFetch fetches = ModelFetch::kNever);
// Adds --pre, the pre-tokenizer that overrides the file's.
void add_pre(CLI::App& verb, std::optional<std::string>* pre);

// The source of a verb's text: -p TEXT, -f FILE, else standard input.
struct TextSource {
  std::optional<std::string> text, path;
};
void add_text_source(CLI::App& verb, TextSource* source);
// The source of several texts: every -p TEXT, else -f FILE, else standard input.
struct TextSources {
  std::vector<std::string> texts;
  std::optional<std::string> path;
};
void add_text_sources(CLI::App& verb, TextSources* sources);
// Reads the text; `what` names the text in the hint that is printed if standard input is a
// terminal.
std::string read_source(const TextSource& source, const std::string& what);

// Values of --weights that name no type: the weights as they are stored, and the types that fit
// into memory.
inline constexpr const char *kStoredWeights = "stored", *kAutomaticWeights = "auto";
std::vector<std::string> weight_choices();
// Returns the policy for --weights; `importance` is the file of an importance matrix. Throws
// (kUsage) if there is such a file but nothing is quantised.
WeightPolicy weight_policy_of(const std::string& choice,
                              const std::optional<std::string>& importance);
CLI::Option* add_importance(CLI::App& verb, std::optional<std::string>* importance);

// The GPU through which prompts are streamed, and its settings.
struct PromptGpuArgs {
  std::optional<std::string> gpu;
  uint32_t threshold = 0, rows = 0;  // 0: chosen automatically
  uint64_t memory = 0;
  std::optional<uint32_t> layers, experts;
};
// Both add --gpu-rows, --gpu-memory, --gpu-layers and --gpu-experts; add_gpu_options() also adds
// --gpu itself.
std::vector<CLI::Option*> add_gpu_plan_options(CLI::App& verb, PromptGpuArgs* args);
void add_gpu_options(CLI::App& verb, PromptGpuArgs* args);
// Adds the option for the bytes of kept recurrent states; 0: none are kept.
void add_state_cache(CLI::App& verb, std::optional<uint64_t>* bytes);

// Options of every verb that runs a model.
struct EngineArgs {
  PlanArgs plan;
  uint32_t context = 0;   // 0: the verb's default
  uint64_t kv_bytes = 0;  // 0: the verb's default
  std::optional<uint64_t> state_bytes;
  std::string kv_type = "f16";
  std::string weights = kStoredWeights;
  std::optional<std::string> importance;
  bool interleave = false;
  bool verbose = false;
  uint64_t memory_room = 0;  // limit on all memory of the engine; 0: what is free
};
void add_engine_options(CLI::App& verb, EngineArgs* args, const std::string& context_help);
// Adds only the options of storage, for a verb that has other options for threads (`threads`) and
// context.
void add_storage_options(CLI::App& verb, EngineArgs* args, CLI::Option* threads);

// Adds examples to the end of a verb's help: "hearth run MODEL -p 'Once'".
void add_examples(CLI::App& verb, const std::string& examples);

}  // namespace hearth
