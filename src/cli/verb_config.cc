// hearth config: shows the options that the environment and the configuration file set.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/printable.h"
#include "cli/program.h"
#include "cli/text_io.h"
#include "setup/configuration.h"
#include "setup/near_names.h"

namespace hearth {
namespace {

constexpr size_t kMaxShownValue = 4096;

std::string values_text(const OptionFact& option, const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& value : values) {
    const std::string shown = printable(value, kMaxShownValue);
    text += (text.empty() ? "" : ", ") + (option.flag ? shown : fmt::format("\"{}\"", shown));
  }
  return values.size() == 1 ? text : "[" + text + "]";
}

// Returns the verb's table, with the source of each value as a comment.
std::string table_text(const VerbFact& verb, const ConfiguredOptions& configured) {
  std::string text = fmt::format("[{}]\n", verb.name);
  for (const OptionFact& option : verb.options) {
    if (option.key.empty()) continue;
    auto found = configured.find(option.key);
    if (found != configured.end()) {
      text += fmt::format("{} = {}  # {}\n", option.key, values_text(option, found->second.values),
                          found->second.source);
    } else if (!option.preset.empty()) {
      text += fmt::format("{} = {}  # default\n", option.key, values_text(option, {option.preset}));
    } else {
      text += fmt::format("# {}  # default\n", option.key);
    }
  }
  return text;
}

// Returns the tables of models.
std::string model_tables(const OptionTree& tree, const Configuration& configuration) {
  const VerbFact& serve = *std::ranges::find(tree, "serve", &VerbFact::name);
  std::string text;
  for (const auto& [name, options] : configuration) {
    if (!name.starts_with(kModelTable)) continue;
    text += fmt::format("\n[model.\"{}\"]\n", printable(name.substr(kModelTable.size())));
    for (const auto& [key, value] : options) {
      const auto option = std::ranges::find(serve.options, key, &OptionFact::key);
      const OptionFact fact = option == serve.options.end() ? OptionFact{} : *option;
      text += fmt::format("{} = {}  # {}\n", key, values_text(fact, value.values), value.source);
    }
  }
  return text;
}

int show_configuration(const OptionTree& tree, const std::optional<std::string>& file,
                       const std::string& wanted) {
  if (!wanted.empty() && std::ranges::find(tree, wanted, &VerbFact::name) == tree.end()) {
    std::vector<std::string> names;
    for (const VerbFact& verb : tree) names.push_back(verb.name);
    fail(ErrorCode::kUsage, "there is no verb '{}'{}", wanted, did_you_mean(wanted, names));
  }
  Configuration configuration = find_configuration(file, tree);
  std::string text = fmt::format("# {}\n", configuration_path(file).value_or("no file is there"));
  for (const VerbFact& verb : tree) {
    const bool has =
        std::ranges::any_of(verb.options, [](const OptionFact& each) { return !each.key.empty(); });
    if (!has || (!wanted.empty() && verb.name != wanted)) continue;
    text += "\n" + table_text(verb, configuration[verb.name]);
  }
  if (wanted.empty() || wanted == "serve") text += model_tables(tree, configuration);
  write_stdout(text);
  return 0;
}

}  // namespace

void add_config(CLI::App& program, Action& action, const std::optional<std::string>& file) {
  CLI::App& verb = *program.add_subcommand("config", "Show option values and where they are set");
  auto wanted = std::make_shared<std::string>();
  verb.add_option("VERB", *wanted, "Show only this verb's options")->type_name("NAME");
  verb.footer("Examples:\n  hearth config serve\n  hearth --config my.toml config");
  verb.callback([wanted, &program, &file, &action] {
    action = [wanted, &program, &file] {
      return show_configuration(option_tree(program), file, *wanted);
    };
  });
}

}  // namespace hearth
