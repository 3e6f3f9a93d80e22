// What a configuration says of a verb, as words for its command line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/cli11.h"
#include "setup/configuration.h"

namespace hearth {

// What the program was told, for a verb that reads it again.
struct ToldWords {
  std::optional<std::string> file;  // --config's
  std::vector<std::string> words;   // behind the verb, as they were typed
  Configuration configuration;
};

// Words for the options that the verb's own words leave open; the verb was parsed with these.
std::vector<std::string> configured_words(const CLI::App& verb, const ConfiguredOptions& options);

// Where a sentence names an option that was configured: by whom.
std::string configured_source(const std::string& sentence, const ConfiguredOptions& options);

}  // namespace hearth
