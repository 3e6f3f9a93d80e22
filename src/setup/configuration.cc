#include "setup/configuration.h"

#include <fmt/format.h>

#include <toml++/toml.h>
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/ascii.h"
#include "base/error.h"
#include "base/printable.h"
#include "base/user_folder.h"
#include "setup/near_names.h"

namespace hearth {
namespace {

constexpr const char* kSystemFile = "/etc/hearth/config.toml";

// Reads one configuration file.
class ConfigurationReader {
 public:
  ConfigurationReader(std::string path, const OptionTree& tree)
      : path_(std::move(path)), tree_(tree) {}

  Configuration read(const toml::table& file) const {
    Configuration all;
    for (const auto& [name, node] : file) {
      const std::string verb(name.str());
      const auto* table = node.as_table();
      if (table == nullptr) {
        refuse(node, "'{}' is in no table: put it below a verb's table, such as [serve]", verb);
      }
      if (verb == "model") {
        read_models(*table, &all);
      } else {
        all[verb] = read_options(verb_of(verb, node), *table, OfModel::kNo);
      }
    }
    return all;
  }

 private:
  enum class OfModel : uint8_t { kNo, kYes };

  void read_models(const toml::table& tables, Configuration* all) const {
    for (const auto& [name, node] : tables) {
      const std::string model(name.str());
      const auto* table = node.as_table();
      if (table == nullptr || model.empty()) {
        refuse(node, "a model's options must be in a table with its name, such as [model.{}]",
               model.empty() ? "small" : printable(model));
      }
      (*all)[std::string(kModelTable) + model] =
          read_options(verb_of("serve", node), *table, OfModel::kYes);
    }
  }

  template <typename... Args>
  [[noreturn]] void refuse(const toml::node& node, fmt::format_string<Args...> format,
                           Args&&... args) const {
    fail(ErrorCode::kUsage, "{}: {}", place(node),
         fmt::format(format, std::forward<Args>(args)...));
  }
  std::string place(const toml::node& node) const {
    return fmt::format("'{}', line {}", path_, node.source().begin.line);
  }

  const VerbFact& verb_of(const std::string& name, const toml::node& node) const {
    auto found = std::ranges::find(tree_, name, &VerbFact::name);
    if (found != tree_.end()) return *found;
    std::vector<std::string> names;
    for (const VerbFact& verb : tree_) names.push_back(verb.name);
    refuse(node, "there is no verb '{}'{}", printable(name), did_you_mean(name, names));
  }

  ConfiguredOptions read_options(const VerbFact& verb, const toml::table& table,
                                 OfModel of_model) const {
    ConfiguredOptions options;
    const OptionFact model{.key = "model"};  // not an option on the command line
    for (const auto& [name, node] : table) {
      const std::string key(name.str());
      const OptionFact* option = find_option(verb, key);
      if (of_model == OfModel::kYes) {
        if (key == model.key) {
          option = &model;
        } else if (option != nullptr && !option->of_model) {
          refuse(node, "{} is not an option of a single model: put it below [serve]", key);
        }
      }
      if (option == nullptr) {
        std::vector<std::string> keys;
        for (const OptionFact& each : verb.options) keys.push_back(each.key);
        refuse(node, "`hearth {}` has no option '{}'{}", verb.name, printable(key),
               did_you_mean(key, keys));
      }
      options[key] = {values_of(*option, node), place(node)};
    }
    return options;
  }

  static const OptionFact* find_option(const VerbFact& verb, const std::string& key) {
    auto found = std::ranges::find(verb.options, key, &OptionFact::key);
    return key.empty() || found == verb.options.end() ? nullptr : &*found;
  }

  std::vector<std::string> values_of(const OptionFact& option, const toml::node& node) const {
    if (option.flag) {
      if (!node.is_boolean()) refuse(node, "{} must be true or false", option.key);
      return {node.value_or(false) ? "true" : "false"};
    }
    const toml::array* list = node.as_array();
    if (list == nullptr) return {text_of(option, node)};
    if (!option.many) refuse(node, "{} takes one value", option.key);
    std::vector<std::string> values;
    for (const toml::node& each : *list) values.push_back(text_of(option, each));
    return values;
  }

  std::string text_of(const OptionFact& option, const toml::node& node) const {
    if (node.is_string()) return node.value_or(std::string());
    if (node.is_integer()) return fmt::format("{}", node.value_or(int64_t{0}));
    if (node.is_floating_point()) return fmt::format("{}", node.value_or(0.0));
    refuse(node, "{} takes a string or a number", option.key);
  }

  const std::string path_;
  const OptionTree& tree_;
};

std::string read_file(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    fail(ErrorCode::kUsage, "'{}' is a folder: give a configuration file", path);
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(ErrorCode::kUsage, "cannot open '{}': {}", path, std::strerror(errno));
  std::string text(kMaxConfigurationBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > kMaxConfigurationBytes) {
    fail(ErrorCode::kUsage, "'{}' is larger than 1 MiB, so it is not a configuration file", path);
  }
  if (file.bad()) fail(ErrorCode::kUsage, "cannot read '{}': {}", path, std::strerror(errno));
  return text;
}

void take_environment(const OptionTree& tree, Configuration* all) {
  for (const VerbFact& verb : tree) {
    for (const OptionFact& option : verb.options) {
      if (option.key.empty()) continue;
      const std::string name = environment_name(verb.name, option.key);
      const char* value = std::getenv(name.c_str());
      if (value == nullptr) continue;
      if (option.flag && std::strcmp(value, "true") != 0 && std::strcmp(value, "false") != 0) {
        fail(ErrorCode::kUsage, "{} is '{}'; it must be true or false", name, printable(value));
      }
      (*all)[verb.name][option.key] = {{value}, name};
    }
  }
}

}  // namespace

std::optional<std::string> configuration_path(const std::optional<std::string>& given) {
  if (given) return given;
  std::error_code error;
  if (const std::optional<std::string> folder = user_folder("XDG_CONFIG_HOME", ".config")) {
    std::string own = *folder + "/hearth/config.toml";
    if (std::filesystem::exists(own, error)) return own;
  }
  if (std::filesystem::exists(kSystemFile, error)) return kSystemFile;
  return std::nullopt;
}

std::string environment_name(const std::string& verb, const std::string& key) {
  std::string name = fmt::format("HEARTH_{}_{}", verb, key);
  for (char& c : name) c = c == '-' ? '_' : ascii_upper(c);
  return name;
}

Configuration read_configuration(const std::string& text, const std::string& path,
                                 const OptionTree& tree) {
  toml::table file;
  try {
    file = toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    fail(ErrorCode::kUsage, "'{}', line {}: {}", path, error.source().begin.line,
         printable(error.description(), 300));
  }
  return ConfigurationReader(path, tree).read(file);
}

Configuration find_configuration(const std::optional<std::string>& given, const OptionTree& tree) {
  Configuration all;
  if (std::optional<std::string> path = configuration_path(given)) {
    all = read_configuration(read_file(*path), *path, tree);
  }
  take_environment(tree, &all);
  return all;
}

}  // namespace hearth
