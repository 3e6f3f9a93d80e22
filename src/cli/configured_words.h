// Turns a verb's options from the configuration into words of a command line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/cli11.h"
#include "setup/configuration.h"

namespace hearth {

// The words of the command line, for a verb that parses them again.
struct GivenWords {
  std::optional<std::string> file;  // the value of --config
  std::vector<std::string> words;   // the words behind the verb, as typed
  Configuration configuration;
};

// Returns words for configured options that the command line does not set. `verb` has parsed the
// command line.
std::vector<std::string> configured_words(const CLI::App& verb, const ConfiguredOptions& options);

// Returns where a configured option that `sentence` names was set: the file or the variable; empty
// where the sentence names no such option.
std::string configured_source(const std::string& sentence, const ConfiguredOptions& options);

}  // namespace hearth
