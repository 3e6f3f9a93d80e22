#include "cli/configured_words.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

namespace hearth {
namespace {

// Returns whether the command line sets the option, or an option that excludes it.
bool is_settled(const CLI::Option& option) {
  if (option.count() > 0) return true;
  return std::ranges::any_of(option.get_excludes(),
                             [](const CLI::Option* other) { return other->count() > 0; });
}

}  // namespace

std::vector<std::string> configured_words(const CLI::App& verb, const ConfiguredOptions& options) {
  std::vector<std::string> words;
  for (const auto& [key, configured] : options) {
    const CLI::Option* option = verb.get_option_no_throw("--" + key);
    if (option == nullptr || is_settled(*option)) continue;
    for (const std::string& value : configured.values) {
      const bool flag = option->get_items_expected_max() == 0;
      if (flag) {
        if (value == "true") words.push_back("--" + key);
      } else if (value.empty()) {
        // An empty value becomes a separate word: after "--key=" the parser would take the next
        // word for it.
        words.insert(words.end(), {"--" + key, ""});
      } else {
        words.push_back(fmt::format("--{}={}", key, value));
      }
    }
  }
  return words;
}

std::string configured_source(const std::string& sentence, const ConfiguredOptions& options) {
  for (const auto& [key, configured] : options) {
    if (sentence.starts_with(fmt::format("--{}:", key))) return configured.source;
  }
  return {};
}

}  // namespace hearth
