// Reads options that the command line leaves open: from the environment, HEARTH_SERVE_PORT for
// `hearth serve --port`, else from a file in TOML 1.0 with a table for each verb:
//
//   [serve]
//   port = 9000
//   allow-host = ["box", "box.lan"]
//   no-log = true
//
// `hearth serve` also takes tables of models, by the names that requests call them, with the
// options of `serve` that apply to one model, and `model`, which is MODEL of the command line
// (default: the name):
//
//   [model.small]
//   model = "unsloth/Qwen3-4B-GGUF"
//   ctx = 8192
//   pin = true
//
// The file is what --config names, else $XDG_CONFIG_HOME/hearth/config.toml (~/.config where that
// is not set), else /etc/hearth/config.toml; the last two need not exist.
//
// Errors (kUsage), with the file, the line and the nearest name: a file that cannot be read, is
// larger than kMaxConfigurationBytes or not TOML, a table that is not a verb, a key that is not
// one of its options, a value of another type.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "setup/option_tree.h"

namespace hearth {

inline constexpr size_t kMaxConfigurationBytes = 1 << 20;

struct ConfiguredValue {
  std::vector<std::string> values;  // of a flag: "true" or "false"
  std::string source;               // "FILE, line 3" or "HEARTH_SERVE_PORT"
};

// The options of one verb, by their keys.
using ConfiguredOptions = std::map<std::string, ConfiguredValue>;
// The options by verbs; tables of models are "model.NAME".
inline constexpr std::string_view kModelTable = "model.";
using Configuration = std::map<std::string, ConfiguredOptions>;

// Returns the path of the file to read; `given` is --config's. Returns none if there is no file.
std::optional<std::string> configuration_path(const std::optional<std::string>& given);

// Returns "HEARTH_SERVE_MAX_QUEUE" for "serve" and "max-queue".
std::string environment_name(const std::string& verb, const std::string& key);

// Parses the text of a file; `path` is for messages.
Configuration read_configuration(const std::string& text, const std::string& path,
                                 const OptionTree& tree);

// Reads the environment and the file; the environment has precedence.
Configuration find_configuration(const std::optional<std::string>& given, const OptionTree& tree);

}  // namespace hearth
