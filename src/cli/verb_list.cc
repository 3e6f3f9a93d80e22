// hearth list: the models on this machine that a name finds.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/bytes_text.h"
#include "base/json.h"
#include "base/printable.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/text_io.h"
#include "store/header_check.h"
#include "store/local_models.h"

namespace hearth {
namespace {

constexpr size_t kLongestReason = 400;

std::string reason_of(const LocalModel& model) {
  return model.problem.empty() ? why_not(model.path, model.bytes) : model.problem;
}

int list(bool as_json) {
  Json json;
  json.object().key("models").array();
  std::string text;
  for (const LocalModel& model : find_local_models(find_places())) {
    const std::string reason = reason_of(model);
    text += fmt::format("{:<44} {:>11}  {:<9}  {}\n", printable(model.name, 200),
                        bytes_text(model.bytes), model.store,
                        reason.empty() ? "runs" : "no: " + printable(reason, kLongestReason));
    json.object().key("name").text(model.name).key("type").text(model.type);
    json.key("bytes").number(model.bytes).key("store").text(model.store);
    json.key("path").text(model.path).key("runs").boolean(reason.empty());
    json.key("reason").text_or_null(reason.empty() ? std::nullopt : std::optional(reason));
    json.end_object();
  }
  json.end_array().end_object();
  if (text.empty() && !as_json) print_note("there is none; `hearth pull ORG/REPO` gets one");
  write_stdout(as_json ? json.line() : text);
  return 0;
}

}  // namespace

void add_list(CLI::App& program, Action& action) {
  CLI::App& verb = *program.add_subcommand(
      "list", "List the models here: Hugging Face's cache, ollama's and LM Studio's stores");
  auto as_json = std::make_shared<bool>(false);
  verb.add_flag("--json", *as_json, "Print one JSON object");
  add_examples(verb, "  hearth list\n  hearth list --json | jq -r '.models[].name'");
  verb.callback([as_json, &action] { action = [as_json] { return list(*as_json); }; });
}

}  // namespace hearth
