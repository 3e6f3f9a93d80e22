// hearth list: lists the models on this machine that can be named.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string_view>

#include "base/ascii.h"
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
  if (text.empty() && !as_json)
    print_note("no models on this machine; `hearth pull ORG/REPO` downloads one");
  write_stdout(as_json ? json.line() : text);
  return 0;
}

// Returns whether a shell needs no quotes around the word.
bool is_plain(const std::string& name) {
  return std::ranges::all_of(name, [](char c) {
    return is_letter(c) || is_digit(c) || std::string_view("-_.:/").find(c) < 5;
  });
}

int list_names() {
  std::string text;
  for (const LocalModel& model : find_local_models(find_places())) {
    if (model.problem.empty() && is_plain(model.name)) text += model.name + "\n";
  }
  write_stdout(text);
  return 0;
}

}  // namespace

void add_list(CLI::App& program, Action& action) {
  CLI::App& verb = *program.add_subcommand("list", "List the models on this machine");
  struct Ways {
    bool json = false, names = false;
  };
  auto ways = std::make_shared<Ways>();
  CLI::Option* json = verb.add_flag("--json", ways->json, "Print one JSON object");
  verb.add_flag("--names", ways->names,
                "Print only the names, one a line, without opening the models")
      ->excludes(json);
  add_examples(verb, "  hearth list\n  hearth list --json | jq -r '.models[].name'");
  verb.callback([ways, &action] {
    action = [ways] { return ways->names ? list_names() : list(ways->json); };
  });
}

}  // namespace hearth
