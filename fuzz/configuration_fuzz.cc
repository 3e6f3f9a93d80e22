// Fuzzes configuration files. Only hearth::Error may be thrown. An entry that is accepted is an
// existing option of a verb or of a model, and tells its line in the file.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "base/error.h"
#include "setup/configuration.h"

namespace {

const hearth::OptionTree& tree() {
  static const hearth::OptionTree all = {
      {"serve",
       "Serve",
       {{.names = {"--port"}, .key = "port", .help = "Port"},
        {.names = {"--allow-host"}, .key = "allow-host", .help = "Host", .many = true},
        {.names = {"--no-log"}, .key = "no-log", .help = "No log", .flag = true},
        {.names = {"--ctx"}, .key = "ctx", .help = "Context", .of_model = true},
        {.names = {"--help"}, .help = "Help", .flag = true}}},
      {"run", "Generate", {{.names = {"--top-k"}, .key = "top-k", .help = "Top k"}}}};
  return all;
}

bool has_option(const std::string& verb, const std::string& key, bool of_model) {
  return std::ranges::any_of(tree(), [&](const hearth::VerbFact& fact) {
    return fact.name == verb &&
           std::ranges::any_of(fact.options, [&](const hearth::OptionFact& option) {
             return option.key == key && (!of_model || option.of_model);
           });
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  hearth::Configuration all;
  try {
    all = hearth::read_configuration(text, "c.toml", tree());
  } catch (const hearth::Error&) {
    return 0;
  }
  for (const auto& [table, options] : all) {
    const bool of_model = table.starts_with(hearth::kModelTable);
    for (const auto& [key, value] : options) {
      HEARTH_CHECK(
          (of_model && key == "model") || has_option(of_model ? "serve" : table, key, of_model),
          "an option is one of the tree's");
      HEARTH_CHECK(!value.values.empty(), "an option has a value");
      HEARTH_CHECK(value.source.starts_with("'c.toml', line "), "a value tells its line");
    }
  }
  return 0;
}
