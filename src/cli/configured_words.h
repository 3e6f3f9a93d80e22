// Turns the options that a configuration has for a verb into words for its command line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/cli11.h"
#include "setup/configuration.h"

namespace hearth {

// The words that the program was given, for a verb that reads them again.
struct ToldWords {
  std::optional<std::string> file;  // --config's
  std::vector<std::string> words;   // behind the verb, as they were typed
  Configuration configuration;
};

// Words for the options that the verb's own words leave open; the verb was parsed with these.
std::vector<std::string> configured_words(const CLI::App& verb, const ConfiguredOptions& options);

// Returns the source of an option that a sentence names, where it was configured: the file or the
// variable.
std::string configured_source(const std::string& sentence, const ConfiguredOptions& options);

}  // namespace hearth
