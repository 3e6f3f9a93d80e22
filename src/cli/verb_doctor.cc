// hearth doctor: whether all is as it should be, and what to do where it is not.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes_text.h"
#include "base/error.h"
#include "base/json.h"
#include "cli/load.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/text_io.h"
#include "http/server.h"
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
      finding.remedy = "HEARTH_ISA forces this level: leave it out for the fastest";
    }
    return finding;
  } catch (const Error& error) {
    return {FindingLevel::kBad, "kernels", error.what(), "take another processor or hypervisor"};
  }
}

// Whether `hearth serve` would get the port that it takes by default.
Finding check_port() {
  const HttpOptions usual;
  Finding finding{FindingLevel::kOk, "port", fmt::format("{} is free", usual.port), ""};
  try {
    const HttpServer server(
        usual, [](HttpRequest&) { return std::nullopt; }, [](const std::shared_ptr<Exchange>&) {});
  } catch (const Error&) {
    finding = {FindingLevel::kNote, "port", fmt::format("{} is taken", usual.port),
               "serve at another one, such as `hearth serve --port 8081`"};
  }
  return finding;
}

// Whether a model runs here, and with how much room.
Finding check_model(const std::string& path, const Machine& machine) {
  try {
    const OpenedModel model = open_named_model(path, {}, false, TokenizerUse::kIfThere);
    const uint64_t bytes = model.source.file_bytes();
    Finding finding{
        FindingLevel::kOk, "model",
        fmt::format("it runs here, and was made for {} positions", model.spec.hyper.context), ""};
    finding.found += fmt::format("; its weights take {}", bytes_text(bytes));
    if (machine.memory_available > 0 && bytes > machine.memory_available) {
      finding.level = FindingLevel::kBad;
      finding.remedy = "it does not fit into the memory that is free: take smaller weights";
    }
    return finding;
  } catch (const Error& error) {
    return {FindingLevel::kBad, "model", error.what(), "take another file"};
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

int examine(const std::string& model, bool as_json) {
  const Machine machine = Machine::live();
  std::vector<Finding> findings = {check_kernels_here()};
  for (Finding& finding : check_machine(machine, read_system_facts())) {
    findings.push_back(std::move(finding));
  }
  findings.push_back(check_port());
  if (!model.empty()) findings.push_back(check_model(model, machine));
  write_stdout(as_json ? findings_json(findings) : findings_text(findings));
  return std::ranges::count(findings, FindingLevel::kBad, &Finding::level) > 0 ? 1 : 0;
}

}  // namespace

void add_doctor(CLI::App& program, Action& action) {
  CLI::App& verb = *program.add_subcommand("doctor", "Tell what is not as it should be here");
  struct Args {
    std::string model;
    bool as_json = false;
  };
  auto args = std::make_shared<Args>();
  verb.add_option("MODEL", args->model, "A model that should run here")->type_name("FILE");
  verb.add_flag("--json", args->as_json, "Print one JSON object");
  add_examples(verb, "  hearth doctor\n  hearth doctor model.gguf --json");
  verb.callback(
      [args, &action] { action = [args] { return examine(args->model, args->as_json); }; });
}

}  // namespace hearth
