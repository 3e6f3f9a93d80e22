#include "cli/help_groups.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <memory>
#include <string_view>

#include "setup/help_page.h"

namespace hearth {
namespace {

// A verb with at most this many options, help included, has no headings.
constexpr size_t kMaxUngrouped = 11;

// Options under one heading. A group of one verb has precedence over a group of all verbs (`verb`
// empty).
struct OptionGroup {
  std::string_view name;
  std::string_view verb;
  std::initializer_list<const char*> options;
};
constexpr OptionGroup kGroups[] = {
    {"Model", "", {"--offline", "--alias", "--chat-template", "--ctx", "--pre", "--model"}},
    {"Text", "", {"--prompt", "--file", "--tokens", "--no-bos", "--special"}},
    {"Sampling",
     "",
     {"--temp", "--top-p", "--min-p", "--top-k", "--repeat-penalty", "--presence-penalty",
      "--frequency-penalty", "--penalty-window", "--logit-bias", "--seed"}},
    {"Weights and memory",
     "",
     {"--weights", "--importance", "--kv-cache", "--kv-type", "--state-cache", "--interleave"}},
    {"Threads and NUMA nodes",
     "",
     {"--threads", "--nodes", "--cpus", "--shards", "--groups", "--sync", "--experts", "--plan"}},
    {"Prompts on a GPU",
     "",
     {"--gpu", "--gpu-threshold", "--gpu-rows", "--gpu-memory", "--gpu-layers", "--gpu-experts"}},
    {"Devices",
     "",
     {"--device", "--offload", "--list-devices", "--slo", "--admission", "--gather", "--host-cores",
      "--pools"}},
    {"Output", "", {"--output", "--top", "--json", "--quiet", "--verbose", "--echo"}},
    {"Several models", "serve", {"--models", "--allow-pull", "--memory", "--pin", "--ttl"}},
    {"Address and access",
     "serve",
     {"--host", "--port", "--ollama", "--ollama-port", "--api-key-file", "--no-auth",
      "--allow-host", "--allow-origin"}},
    {"Requests",
     "serve",
     {"--max-running", "--max-queue", "--stall-timeout", "--drain-timeout", "--log-json",
      "--no-log"}},
    {"Embeddings and rerankers", "serve", {"--pooling", "--embed", "--rerank", "--embed-queue"}},
    {kRareSection, "serve", {"--max-connections", "--max-address-connections",
                             "--max-header",      "--max-header-fields",
                             "--max-body",        "--max-bodies",
                             "--max-replies",     "--header-timeout",
                             "--body-timeout",    "--idle-timeout",
                             "--write-timeout",   "--max-depth",
                             "--max-messages",    "--max-prompts",
                             "--max-stops",       "--max-biases",
                             "--max-choices",     "--max-top-logprobs",
                             "--embed-memory",    "--max-inputs"}},
    {"Text", "run", {"--chat", "--system", "--chat-template"}},
    {"Generated text",
     "run",
     {"--max-tokens", "--repeat", "--stop", "--ignore-eos", "--json-schema", "--regex", "--grammar",
      "--choice"}},
    {"Conversation", "chat", {"--system", "--no-history"}},
    {"Server", "chat", {"--model", "--api-key-file"}},
    {"Text", "embed", {"--field", "--id", "--prefix", "--truncate"}},
    {"Vectors", "embed", {"--dimensions", "--pooling", "--no-normalize", "--batch"}},
    {"Model", "logits", {"--chunk"}},
    {"Text", "tokenize", {"--decode", "--no-special", "--lines"}},
    {"What to measure",
     "bench",
     {"--limits", "--load", "--kernels", "--serve", "--embed", "--compare", "--profile"}},
    {"Lengths and repetitions",
     "bench",
     {"--prefill", "--decode", "--depth", "--batch", "--arrive", "--step-ms", "--repetitions"}},
    {"With --kernels", "bench", {"--rows", "--types"}},
    {"With --serve",
     "bench",
     {"--rate", "--find-rate", "--concurrency", "--requests", "--seconds", "--timeout", "--warmup",
      "--text", "--chat", "--model", "--api-key-file", "--shared-prefix", "--slo-ttft-ms",
      "--slo-tpot-ms", "--lengths", "--seed"}},
    {"With --embed", "bench", {"--device", "--slo", "--admission", "--parts", "--arrival-seconds"}},
    {"Machine and plan", "topo", {"--machine", "--write-plan"}},
    {"Bandwidth", "topo", {"--bandwidth", "--output", "--bandwidth-table"}},
    {"Prediction", "topo", {"--predict", "--depth", "--prompt"}},
    {"Search",
     "tune",
     {"--only", "--budget", "--trace", "--candidates", "--machine", "--bandwidth-table", "--fresh",
      "--threads"}},
    {"Saved results", "tune", {"--list", "--show", "--remove", "--export"}}};

struct VerbGroup {
  const char* name;
  std::initializer_list<const char*> verbs;
};
constexpr VerbGroup kVerbGroups[] = {
    {"Generate text and embeddings", {"serve", "run", "chat", "embed"}},
    {"Models", {"pull", "list", "remove", "inspect", "quantize"}},
    {"Tokens, logits and formats", {"tokenize", "perplexity", "logits", "chat-format", "grammar"}},
    {"Speed and hardware", {"bench", "topo", "gpu", "tune"}},
    {"Setup", {"doctor", "config", "completion", "version"}}};

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0) return {};
    // A type's name is followed by the conditions of its value: "TIME:FLOAT in [0 - 1]".
    const std::string type = option->get_type_name();
    std::string text = " " + type.substr(0, type.find(':'));
    if (const std::string preset = option->get_default_str(); !preset.empty()) text += "=" + preset;
    const bool many = option->get_expected_max() == CLI::detail::expected_max_vector_size;
    if (many && !text.ends_with("...")) text += " ...";
    if (option->get_required()) text += " (required)";
    return text;
  }
};

}  // namespace

void group_options(CLI::App& program) {
  for (const VerbGroup& group : kVerbGroups) {
    for (const char* verb : group.verbs) program.get_subcommand(verb)->group(group.name);
  }
  for (CLI::App* verb : program.get_subcommands({})) {
    if (verb->get_options().size() <= kMaxUngrouped) continue;
    for (const OptionGroup& group : kGroups) {
      if (!group.verb.empty() && group.verb != verb->get_name()) continue;
      for (const char* name : group.options) {
        if (CLI::Option* option = verb->get_option_no_throw(name)) {
          option->group(std::string(group.name));
        }
      }
    }
  }
}

void set_help_format(CLI::App& program) {
  auto format = std::make_shared<HelpFormatter>();
  format->column_width(kHelpColumn);
  program.formatter(format);
}

std::string parse_sentence(const CLI::ParseError& error) {
  std::string sentence = error.what();
  if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr) {
    constexpr std::string_view kBetween = " excludes ";
    const size_t at = sentence.find(kBetween);
    if (at == sentence.npos) return sentence;
    sentence.replace(at, kBetween.size(), " cannot be combined with ");
    return sentence + ": leave one of them out";
  }
  if (dynamic_cast<const CLI::RequiresError*>(&error) != nullptr) {
    constexpr std::string_view kBetween = " requires ";
    const size_t at = sentence.find(kBetween);
    if (at == sentence.npos) return sentence;
    const std::string needed = sentence.substr(at + kBetween.size());
    return fmt::format("{} works only with {}: give {} too", sentence.substr(0, at), needed,
                       needed);
  }
  return sentence;
}

}  // namespace hearth
