// hearth version: shows how the program was built, and what it can use here. HEARTH_VERSION,
// HEARTH_COMPILER and HEARTH_BUILD_TYPE are defined by the build.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "cli/load.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/text_io.h"
#include "topology/cpu_features.h"

namespace hearth {
namespace {

int version(bool as_json) {
  CpuFeatures features = detect_cpu_features();
  std::vector<std::string> levels;
  for (Isa isa : available_isas(features)) levels.emplace_back(isa_name(isa));
  Isa running = Isa::kReference;
  std::string running_text;
  try {
    running = environment_isa(features);
    running_text = isa_name(running);
  } catch (const Error& error) {
    // The version is printed on every processor, even one that cannot run.
    running_text = fmt::format("none: {}", error.what());
  }
  std::vector<std::string> lacking = lacking_text(running, features);
  if (!as_json) {
    std::string text = fmt::format(
        "hearth {}\ncompiler: {}\nbuild: {}\nkernels: {}\nkernels that run here: {}\n",
        HEARTH_VERSION, HEARTH_COMPILER, HEARTH_BUILD_TYPE, running_text, fmt::join(levels, ", "));
    for (const std::string& line : lacking) text += fmt::format("not here: {}\n", line);
    write_stdout(text);
    return 0;
  }
  Json json;
  json.object().key("version").text(HEARTH_VERSION).key("compiler").text(HEARTH_COMPILER);
  json.key("build").text(HEARTH_BUILD_TYPE).key("isa").array();
  for (const std::string& level : levels) json.text(level);
  json.end_array().key("running").text(running_text).key("lacking").array();
  for (const std::string& line : lacking) json.text(line);
  write_stdout(json.end_array().end_object().line());
  return 0;
}

}  // namespace

void add_version(CLI::App& program, Action& action) {
  CLI::App& verb = *program.add_subcommand("version", "Show version, compiler and kernels");
  auto as_json = std::make_shared<bool>(false);
  verb.add_flag("--json", *as_json, "Print one JSON object");
  add_examples(verb, "  hearth version\n  hearth version --json | jq -r .version");
  verb.callback([as_json, &action] { action = [as_json] { return version(*as_json); }; });
}

}  // namespace hearth
