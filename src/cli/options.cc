#include "cli/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cli/model_names.h"
#include "cli/text_io.h"
#include "engine/engine.h"
#include "formats/model_numbers.h"
#include "hybrid/stream_plan.h"
#include "kernels/attention/attention.h"

namespace hearth {
namespace {

// Accepts decimal numbers only and normalises them: CLI11 would read 010 as 8.
template <typename T>
CLI::Validator number_in(T low, T high) {
  auto check = [low, high](std::string& input) -> std::string {
    T value{};
    const char* end = input.data() + input.size();
    auto [stop, error] = std::from_chars(input.data(), end, value);
    if (error == std::errc{} && stop == end && value >= low && value <= high) {
      input = fmt::format("{}", value);
      return {};
    }
    return fmt::format("'{}' is not a whole number from {} to {}", input, low, high);
  };
  return CLI::Validator(std::move(check), "");
}

CLI::Validator any_number() {
  auto check = [](std::string& input) -> std::string {
    float value{};
    const char* end = input.data() + input.size();
    auto [stop, error] = std::from_chars(input.data(), end, value);
    if (error == std::errc{} && stop == end) return {};
    return fmt::format("'{}' is not a number", input);
  };
  return CLI::Validator(check, "");
}

// Returns the bytes of "512MiB", "1.5G" or "4096"; 0 for other texts.
uint64_t parse_size(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{}) return 0;
  std::string_view unit(stop, end);
  if (unit.ends_with("iB")) unit.remove_suffix(2);
  size_t power = std::string_view("KMGT").find(unit);
  if (unit.size() > 1 || power == std::string_view::npos || (unit.empty() && stop != end)) return 0;
  if (!unit.empty()) value = std::ldexp(value, 10 * static_cast<int>(power + 1));
  return value >= 1 && value < 0x1p62 ? static_cast<uint64_t>(value) : 0;
}

CLI::Option* add_text_file(CLI::App& verb, std::optional<std::string>* path) {
  return add_text(verb, "-f,--file", path, "FILE",
                  "Read the text from FILE (default: standard input)");
}

}  // namespace

CLI::Option* add_count(CLI::App& verb, const std::string& names, uint32_t* value, uint32_t low,
                       uint32_t high, const std::string& help) {
  return verb.add_option(names, *value, fmt::format("{} ({} to {})", help, low, high))
      ->transform(number_in<uint32_t>(low, high))
      ->type_name("N");
}

// Adds an option that takes a count, or "auto", which means the default.
CLI::Option* add_auto_count(CLI::App& verb, const std::string& name,
                            const std::function<void(std::optional<uint32_t>)>& set, uint32_t low,
                            uint32_t high, const std::string& help) {
  constexpr const char* kAuto = "auto";
  const auto take = [set](const std::string& text) {
    const auto number = [&] { return static_cast<uint32_t>(std::stoul(text)); };
    set(text == kAuto ? std::optional<uint32_t>() : number());
  };
  const auto check = [numbers = number_in<uint32_t>(low, high)](std::string& input) {
    return input == kAuto ? std::string() : numbers(input);
  };
  return verb
      .add_option_function<std::string>(name, take, fmt::format("{} ({} to {})", help, low, high))
      ->transform(CLI::Validator(check, ""))
      ->type_name("auto|N");
}

CLI::Option* add_counts(CLI::App& verb, const std::string& names, std::vector<uint32_t>* values,
                        uint32_t low, uint32_t high, const std::string& help) {
  return verb.add_option(names, *values, fmt::format("{} ({} to {})", help, low, high))
      ->delimiter(',')
      ->allow_extra_args(false)
      ->transform(number_in<uint32_t>(low, high))
      ->type_name("N,N,...");
}

CLI::Option* add_seed(CLI::App& verb, std::optional<uint64_t>* seed) {
  auto set = [seed](const std::string& text) { *seed = std::stoull(text); };
  return verb.add_option_function<std::string>("--seed", set, "Random seed (default: random)")
      ->transform(number_in<uint64_t>(0, std::numeric_limits<uint64_t>::max()))
      ->type_name("N");
}

CLI::Option* add_real(CLI::App& verb, const std::string& names, float* value,
                      const std::string& help) {
  return verb.add_option(names, *value, help)
      ->check(any_number())
      ->type_name("X")
      ->default_str(fmt::format("{}", *value));
}

CLI::Option* add_size(CLI::App& verb, const std::string& names, uint64_t* bytes,
                      const std::string& help) {
  auto check = [](std::string& input) -> std::string {
    uint64_t parsed = parse_size(input);
    if (parsed == 0)
      return fmt::format("'{}' is not a size such as 512MiB, 1.5G or 1000000", input);
    input = fmt::format("{}", parsed);
    return {};
  };
  return verb.add_option(names, *bytes, help)
      ->transform(CLI::Validator(std::move(check), ""))
      ->type_name("SIZE");
}

CLI::Option* add_choice(CLI::App& verb, const std::string& names, std::string* value,
                        const std::vector<std::string>& choices, const std::string& help) {
  auto check = [choices](std::string& input) -> std::string {
    if (std::find(choices.begin(), choices.end(), input) != choices.end()) return {};
    return fmt::format("'{}' is not one of {}", input, fmt::join(choices, ", "));
  };
  return verb.add_option(names, *value, fmt::format("{}: {}", help, fmt::join(choices, ", ")))
      ->check(CLI::Validator(std::move(check), ""))
      ->type_name("NAME")
      ->capture_default_str();
}

CLI::Option* add_text(CLI::App& verb, const std::string& names, std::optional<std::string>* value,
                      const char* type, const std::string& help) {
  auto set = [value](const std::string& text) { *value = text; };
  return verb.add_option_function<std::string>(names, set, help)->type_name(type);
}

void add_model(CLI::App& verb, std::string* model) {
  CLI::Option* option = verb.add_option("MODEL", *model,
                                        "A GGUF file; of several parts, the first; a folder with "
                                        "safetensors files; or a name (`hearth list`)");
  option->required()->type_name("MODEL");
  take_model_name(option);
}

CLI::Option* add_model_or_demo(CLI::App& verb, std::string* model, ModelFetch fetches) {
  CLI::Option* option = verb.add_option("MODEL", *model,
                                        "A GGUF file; of several parts, the first; a folder with "
                                        "safetensors files; or a name (`hearth list`); default: "
                                        "the demo model");
  if (fetches == ModelFetch::kNever) take_model_name(option);
  return option->type_name("MODEL");
}

void add_pre(CLI::App& verb, std::optional<std::string>* pre) {
  add_text(verb, "--pre", pre, "NAME",
           "Pre-tokenizer to use, where the file names none or a wrong one");
}

void add_text_source(CLI::App& verb, TextSource* source) {
  CLI::Option* text = add_text(verb, "-p,--prompt", &source->text, "TEXT", "The text");
  add_text_file(verb, &source->path)->excludes(text);
}

void add_text_sources(CLI::App& verb, TextSources* sources) {
  CLI::Option* text = verb.add_option("-p,--prompt", sources->texts,
                                      "The prompt; repeat it to run several as one batch");
  text->allow_extra_args(false)->type_name("TEXT");
  add_text_file(verb, &sources->path)->excludes(text);
}

std::string read_source(const TextSource& source, const std::string& what) {
  if (source.text) return *source.text;
  if (source.path) return read_text(*source.path);
  if (stdin_is_terminal()) {
    print_note(fmt::format("type {}, and end it with Ctrl-D on an empty line", what));
  }
  return read_text("-");
}

std::vector<std::string> weight_choices() {
  std::vector<std::string> choices = {kStoredWeights, kAutomaticWeights};
  for (const DType type : policy_types()) choices.emplace_back(policy_type_name(type));
  return choices;
}

WeightPolicy weight_policy_of(const std::string& choice,
                              const std::optional<std::string>& importance) {
  WeightPolicy policy{.automatic = choice == kAutomaticWeights};
  for (const DType type : policy_types()) {
    if (choice == policy_type_name(type)) policy.type = type;
  }
  if (!importance) return policy;
  if (!policy.type && !policy.automatic) {
    fail(ErrorCode::kUsage,
         "--importance works only with quantised weights: name a type with --weights, such as "
         "--weights q4_k");
  }
  policy.importance = std::make_shared<const Importance>(Importance::open(*importance));
  return policy;
}

CLI::Option* add_importance(CLI::App& verb, std::optional<std::string>* importance) {
  return add_text(verb, "--importance", importance, "FILE",
                  "With --weights: importance matrix of llama-imatrix, which weighs the columns of "
                  "each matrix");
}

void add_engine_options(CLI::App& verb, EngineArgs* args, const std::string& context_help) {
  CLI::Option* threads = add_threads(verb, &args->plan);
  add_count(verb, "--ctx", &args->context, 1, kMaxContext, context_help);
  add_size(verb, "--kv-cache", &args->kv_bytes,
           "Size of the KV cache, such as 512MiB or 2G; without --ctx, the context is lowered to "
           "what it holds");
  add_storage_options(verb, args, threads);
}

void add_state_cache(CLI::App& verb, std::optional<uint64_t>* bytes) {
  auto set = [bytes](const std::string& text) { *bytes = std::stoull(text); };
  auto check = [](std::string& input) -> std::string {
    const uint64_t parsed = parse_size(input);
    if (parsed == 0 && input != "0") {
      return fmt::format("'{}' is not a size such as 2G or 0", input);
    }
    input = fmt::format("{}", parsed);
    return {};
  };
  verb.add_option_function<std::string>(
          "--state-cache", set,
          "Models with recurrent layers: memory for saved states, which texts with the same "
          "beginning share, such as 2G; 0: none; default: an eighth of the free memory, at most 8 "
          "states a text")
      ->transform(CLI::Validator(check, ""))
      ->type_name("SIZE");
}

void add_gpu_options(CLI::App& verb, PromptGpuArgs* args) {
  add_text(verb, "--gpu", &args->gpu, "GPU",
           "Stream long prompts through a GPU, even if the model does not fit into its memory, "
           "while the cores decode: none, auto, a name that `hearth gpu` shows, or virtual:FILE, a "
           "GPU that a file describes, computed by the cores. Texts are the same to the bit, "
           "except with weights in BF16 and FP8");
  add_auto_count(
      verb, "--gpu-threshold",
      [args](std::optional<uint32_t> tokens) { args->threshold = tokens.value_or(0); }, 1,
      kMaxContext,
      "Stream prompts of at least this many tokens; auto, the default: where the GPU is predicted "
      "to be faster");
  add_gpu_plan_options(verb, args);
}

std::vector<CLI::Option*> add_gpu_plan_options(CLI::App& verb, PromptGpuArgs* args) {
  return {
      add_count(verb, "--gpu-rows", &args->rows, kMinPassRows, kMaxPassRows,
                "Prompt tokens per pass through the GPU; default: as many as fit into its memory"),
      add_size(verb, "--gpu-memory", &args->memory,
               "GPU memory to use; default: 90 % of the free memory"),
      add_auto_count(
          verb, "--gpu-layers", [args](std::optional<uint32_t> layers) { args->layers = layers; },
          0, ModelMost::kLayers,
          "Number of first layers to keep in GPU memory; auto, the default: as many as fit"),
      add_auto_count(
          verb, "--gpu-experts",
          [args](std::optional<uint32_t> experts) { args->experts = experts; }, kMinRing, kMaxRing,
          "Experts of the other layers to hold in GPU memory at a time; auto, the default: the "
          "fewest that cost no time")};
}

void add_storage_options(CLI::App& verb, EngineArgs* args, CLI::Option* threads) {
  std::vector<std::string> types;
  for (size_t i = 0; i < kKvTypes; ++i) types.emplace_back(kv_type_name(static_cast<KvType>(i)));
  add_choice(verb, "--kv-type", &args->kv_type, types, "Type of the KV cache");
  add_choice(verb, "--weights", &args->weights, weight_choices(),
             "Type to quantise float weights to while loading; stored: as in the file; auto: the "
             "finest that fits into memory");
  add_importance(verb, &args->importance);
  add_plan_options(verb, &args->plan, threads);
  verb.add_flag(
      "--interleave", args->interleave,
      "Interleave weights and KV cache over all NUMA nodes, to measure what placement gains");
  verb.add_flag("-v,--verbose", args->verbose,
                "Show what was loaded, where, and how much memory it takes");
}

void add_examples(CLI::App& verb, const std::string& examples) {
  verb.footer(fmt::format("Examples:\n{}", examples));
}

}  // namespace hearth
