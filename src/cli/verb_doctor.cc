// hearth doctor: checks machine and installation, and says what to do about problems.
// HEARTH_VERSION is defined by the build.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes_text.h"
#include "base/error.h"
#include "base/json.h"
#include "bench/figure_text.h"
#include "cli/doctor_checks.h"
#include "cli/load.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/text_io.h"
#include "cli/topo_bandwidth.h"
#include "cost/cost_model.h"
#include "engine/engine_layout.h"
#include "http/server.h"
#include "store/local_models.h"
#include "topology/check_machine.h"
#include "topology/cpu_features.h"

namespace hearth {
namespace {

Finding check_kernels_here() {
  const CpuFeatures features = detect_cpu_features();
  try {
    const Isa running = environment_isa(features);
    Finding finding{FindingLevel::kOk, "kernels", isa_name(running), ""};
    const std::vector<std::string> lacking = lacking_text(running, features);
    if (!lacking.empty()) finding.found += fmt::format("; not here: {}", fmt::join(lacking, "; "));
    if (running != best_isa(features)) {
      finding.level = FindingLevel::kNote;
      finding.remedy = "HEARTH_ISA forces this level: unset it to use the fastest";
    }
    return finding;
  } catch (const Error& error) {
    return {FindingLevel::kBad, "kernels", error.what(), "use another processor or hypervisor"};
  }
}

// Checks that the default port of `hearth serve` is free.
Finding check_port() {
  const HttpOptions usual;
  Finding finding{FindingLevel::kOk, "port", fmt::format("{} is free", usual.port), ""};
  try {
    const HttpServer server(
        usual, [](HttpRequest&) { return std::nullopt; }, [](const std::shared_ptr<Exchange>&) {});
  } catch (const Error&) {
    finding = {FindingLevel::kNote, "port", fmt::format("{} is in use", usual.port),
               "serve at another one, such as `hearth serve --port 8081`"};
  }
  return finding;
}

// Measures this machine's memory bandwidth; if it cannot be measured, returns none and adds a
// finding.
std::optional<BandwidthTable> measure_reading(const Machine& machine, const SystemFacts& facts,
                                              std::vector<Finding>* findings) {
  try {
    BandwidthTable table = measure_with_progress(machine, {.passes = 1, .contention = false});
    findings->push_back(check_reading(table, facts.channels));
    return table;
  } catch (const Error& error) {
    findings->push_back({FindingLevel::kNote, "reading memory",
                         fmt::format("it was not measured: {}", error.what()),
                         "see the other problems listed here, and try again"});
    return std::nullopt;
  }
}

// Returns the memory that an engine for one sequence takes, regardless of what is free.
MemoryUse needed_memory(const ModelSpec& spec, Machine machine) {
  machine.memory_available = 0;
  for (NumaNode& node : machine.nodes) node.available_bytes = 0;
  return lay_out_engine(spec, machine, environment_isa(detect_cpu_features()), {}).memory();
}

double predicted_rate(const ModelSpec& spec, const Machine& machine, const BandwidthTable& table) {
  const EnginePlan plan = plan_engine(machine, {});
  PlacedPlan placed{plan.decode, plan.placement, plan.shard_nodes, plan.shares};
  placed.experts = plan.experts;
  return predict_step(machine, table, spec, placed, {1, 0}).tokens_per_second;
}

// Checks whether a model runs here, how much memory it needs, and how fast it would be.
Finding check_model(const std::string& path, const Machine& machine,
                    const std::optional<BandwidthTable>& table) {
  try {
    const OpenedModel model = open_named_model(path, {}, false, TokenizerUse::kIfThere);
    const ModelSpec& spec = model.spec;
    const MemoryUse memory = needed_memory(spec, machine);
    Finding finding{FindingLevel::kOk, "model",
                    fmt::format("it runs here, with a context of up to {} tokens; it needs {}",
                                spec.hyper.context, bytes_text(memory.total())),
                    ""};
    finding.found += fmt::format(", {} of them weights", bytes_text(memory.weights));
    if (memory.kv > 0) {
      finding.found +=
          fmt::format(" and {} keys and values of a text of {} positions", bytes_text(memory.kv),
                      std::min(spec.hyper.context, kDefaultContext));
    }
    if (table && spec.has_kv_cache()) {
      finding.found += fmt::format("; some {:.3g} tokens a second are predicted for one text",
                                   predicted_rate(spec, machine, *table));
    }
    if (machine.memory_available > 0 && memory.total() > machine.memory_available) {
      finding.level = FindingLevel::kBad;
      finding.remedy =
          "it does not fit into the memory that is free: use smaller weights, or free memory";
    }
    return finding;
  } catch (const Error& error) {
    return {FindingLevel::kBad, "model", error.what(), "use another file"};
  }
}

std::string findings_text(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += fmt::format("{:<5}{}: {}\n", finding_level_name(finding.level), finding.about,
                        finding.found);
    if (!finding.remedy.empty()) text += fmt::format("     {}\n", finding.remedy);
  }
  return text;
}

std::string findings_json(const std::vector<Finding>& findings) {
  Json json;
  json.object().key("findings").array();
  for (const Finding& finding : findings) {
    json.object().key("level").text(finding_level_name(finding.level));
    json.key("about").text(finding.about).key("found").text(finding.found).key("remedy");
    json.text(finding.remedy).end_object();
  }
  return json.end_array().end_object().line();
}

struct DoctorArgs {
  std::string model;
  bool as_json = false, all = false;
};

// Checks disk, stores and tuned plans.
void check_models(const Machine& machine, bool all, std::vector<Finding>* findings) {
  try {
    const StorePlaces places = find_places();
    findings->push_back(check_disk(places.hub, free_disk_bytes(places.hub), all));
    findings->push_back(check_stores(find_local_models(places), all));
  } catch (const Error& error) {
    findings->push_back(
        {FindingLevel::kBad, "stores",
         all ? error.what() : "an environment variable names a folder that cannot be read",
         "correct the environment variable that names the folder of models"});
  }
  try {
    const TunedFields fields = machine_fields(machine, environment_isa(detect_cpu_features()));
    findings->push_back(check_tuned(TunedStore::of_environment().list(), fields, all));
  } catch (const Error& error) {
    findings->push_back({FindingLevel::kNote, "tuning",
                         all ? error.what() : "results of `hearth tune` cannot be read",
                         "`hearth tune --list` shows why"});
  }
}

// Describes this program and its machine, for local reports only.
Finding describe_here(const Machine& machine) {
  return {FindingLevel::kOk, "machine",
          fmt::format("{}; hearth {}", cpu_text(machine.cpu_name), HEARTH_VERSION), ""};
}

int examine(const DoctorArgs& args) {
  const Machine machine = Machine::live();
  const SystemFacts facts = read_system_facts();
  std::vector<Finding> findings = {describe_here(machine), check_kernels_here()};
  for (Finding& finding : check_machine(machine, facts)) findings.push_back(std::move(finding));
  const std::optional<BandwidthTable> table = measure_reading(machine, facts, &findings);
  check_models(machine, args.all, &findings);
  findings.push_back(check_port());
  if (!args.model.empty()) findings.push_back(check_model(args.model, machine, table));
  write_stdout(args.as_json ? findings_json(findings) : findings_text(findings));
  return std::ranges::count(findings, FindingLevel::kBad, &Finding::level) > 0 ? 1 : 0;
}

}  // namespace

void add_doctor(CLI::App& program, Action& action) {
  CLI::App& verb = *program.add_subcommand("doctor", "Check this machine's setup for problems");
  auto args = std::make_shared<DoctorArgs>();
  verb.add_option("MODEL", args->model, "Check whether this model can run here, too")
      ->type_name("FILE");
  verb.add_flag("--json", args->as_json, "Print one JSON object");
  verb.add_flag("--all", args->all,
                "Show names of folders and models, too: private, not for a report");
  add_examples(verb, "  hearth doctor\n  hearth doctor --all\n  hearth doctor model.gguf --json");
  verb.callback([args, &action] { action = [args] { return examine(*args); }; });
}

}  // namespace hearth
