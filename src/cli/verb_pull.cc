// hearth pull: fetches a model from a hub into the cache.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/bytes_text.h"
#include "base/count_text.h"
#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"
#include "cli/model_names.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/pull_stop.h"
#include "cli/text_io.h"
#include "cli/topo_bandwidth.h"
#include "cost/cost_model.h"
#include "engine/engine_plan.h"
#include "store/header_check.h"
#include "store/pull.h"
#include "topology/machine.h"

namespace hearth {
namespace {

struct PullArgs {
  std::string model;
  PullOptions options;
  bool list = false, json = false;
};

constexpr uint32_t kMaxConnections = 16, kMaxTries = 1000, kMaxStallSeconds = 3600;
constexpr uint64_t kMinPiece = 4096, kLargestPiece = uint64_t{1} << 40;

// Rounds down to a multiple of a disk's write size.
uint64_t settled_piece(uint64_t bytes) {
  return std::clamp(bytes, kMinPiece, kLargestPiece) / kMinPiece * kMinPiece;
}

// Returns tokens a second times bytes of the file, a product that is nearly the same for all types
// of a model. It is predicted for the file that would be taken, from the bytes of weights read for
// a token and this machine's bandwidth. Returns none if the file's header does not suffice for
// that.
std::optional<double> rate_by_bytes(const StorePlaces& places, const HubName& name,
                                    const ListedRepo& repo, const HubOptions& options,
                                    const std::atomic<bool>& stop) {
  std::optional<double> rate;
  try {
    HubName any = name;
    any.quant.clear();
    any.file.clear();
    const RepoModel& model = *repo_choices(repo.models, any, memory_room()).front();
    use_shape(places, name, repo.commit, model, options, stop, [&](const ModelSpec& spec) {
      const Machine machine = Machine::live();
      const EnginePlan plan = plan_engine(machine, {});
      const PlacedPlan placed{plan.decode, plan.placement, plan.shard_nodes, plan.shares};
      const BandwidthTable rates =
          measure_with_progress(machine, {.passes = 1, .contention = false});
      const StepCost cost = predict_step(machine, rates, spec, placed, {1, 0});
      rate = cost.tokens_per_second * static_cast<double>(model.bytes);
    });
  } catch (const Error&) {
    // Models that do not run here are listed, too, without a rate.
  }
  return rate;
}

void list_models(const PullArgs& args) {
  const HubName name = read_hub_name(args.model);
  std::vector<RepoModel> models;
  std::optional<double> rate;
  ask_until_stopped([&](const std::atomic<bool>& stop) {
    const StorePlaces places = find_places();
    ListedRepo repo = list_repo(places, name, args.options.fetch.hub, stop);
    rate = rate_by_bytes(places, name, repo, args.options.fetch.hub, stop);
    models = std::move(repo.models);
  });
  const uint64_t room = memory_room();
  Json json;
  json.object().key("models").array();
  std::string text;
  for (const RepoModel& model : models) {
    const bool fits = room == 0 || model.bytes < room / 10 * 9;
    std::optional<double> tokens;
    if (rate && fits && !model.folder) tokens = *rate / static_cast<double>(model.bytes);
    text += fmt::format("{:<24} {:>11}  {:<9} {}{}\n", printable(model.label),
                        bytes_text(model.bytes), count_text(model.files.size(), "file"),
                        fits ? "fits the memory here" : "is beyond the memory here",
                        tokens ? fmt::format(", some {:.3g} tokens/s", *tokens) : "");
    json.object().key("name").text(name.id() + ":" + model.label).key("type").text(model.label);
    json.key("bytes").number(model.bytes).key("fits").boolean(fits);
    json.key("tokens_per_second").real(tokens).key("files").array();
    for (const RepoFile& file : model.files) json.text(file.path);
    json.end_array().end_object();
  }
  json.end_array().end_object();
  write_stdout(args.json ? json.line() : text);
}

void print_pulled(const PullArgs& args, const PulledModel& pulled) {
  if (!args.json) {
    print_note(fmt::format(
        "{} ({}) {}", pulled.name, bytes_text(pulled.model.bytes),
        pulled.fetched == 0 ? "is already here" : "was downloaded and its checksums match"));
    write_stdout(pulled.path + "\n");
    return;
  }
  Json json;
  json.object().key("name").text(pulled.name).key("path").text(pulled.path);
  json.key("commit").text(pulled.commit).key("bytes").number(pulled.model.bytes);
  json.key("fetched").number(pulled.fetched).key("files").array();
  for (const RepoFile& file : pulled.model.files) json.text(file.path);
  write_stdout(json.end_array().end_object().line());
}

int pull(const PullArgs& args) {
  if (args.list) {
    list_models(args);
    return 0;
  }
  const HubName name = read_hub_name(args.model);
  PullOptions options = args.options;
  options.fetch.piece = settled_piece(options.fetch.piece);
  const PulledModel pulled =
      pull_until_stopped(find_places(), name, options, pull_listener(name.id(), args.json));
  print_pulled(args, pulled);
  return 0;
}

}  // namespace

void add_pull(CLI::App& program, Action& action) {
  CLI::App& verb = *program.add_subcommand("pull", "Download a model from a hub, or resume it");
  auto args = std::make_shared<PullArgs>();
  FetchOptions& fetch = args->options.fetch;
  verb.add_option("MODEL", args->model,
                  "ORG/REPO, ORG/REPO:Q4_K_M, ORG/REPO@REVISION, or the address of its page")
      ->required()
      ->type_name("NAME");
  CLI::Option* list = verb.add_flag("--list", args->list,
                                    "List the models of the repository, with sizes; download none");
  verb.add_flag("--anyway", args->options.anyway,
                "Download even a model that would not run here; skips the check")
      ->excludes(list);
  add_count(verb, "--connections", &fetch.connections, 1, kMaxConnections, "Parallel connections")
      ->capture_default_str();
  add_size(verb, "--piece", &fetch.piece, "Bytes of one request (default: 64MiB)");
  add_count(verb, "--tries", &fetch.hub.tries, 0, kMaxTries,
            "Give up after this many failed tries in a row, with ever longer pauses between")
      ->capture_default_str();
  add_count(verb, "--stall", &fetch.hub.stall, 1, kMaxStallSeconds,
            "Reconnect after so many seconds with hardly any data")
      ->capture_default_str();
  verb.add_flag("--json", args->json,
                "Print progress as a JSON object every second, then the result as one");
  add_examples(verb,
               "  hearth pull unsloth/Qwen3-4B-GGUF\n"
               "  hearth pull unsloth/Qwen3-4B-GGUF:Q8_0\n"
               "  hearth pull Qwen/Qwen3-0.6B@main\n"
               "  hearth pull unsloth/Qwen3-4B-GGUF --list\n"
               "  HF_TOKEN=hf_... hearth pull https://huggingface.co/google/gemma-3-1b-it");
  verb.callback([args, &action] { action = [args] { return pull(*args); }; });
}

}  // namespace hearth
