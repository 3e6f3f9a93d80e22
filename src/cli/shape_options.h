// Options that constrain the form of a generated text.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "grammar/matcher.h"
#include "tokenizer/tokenizer.h"

namespace hearth {

struct ShapeArgs {
  std::optional<std::string> schema, regex, grammar;
  std::vector<std::string> choices;
};

// Adds --json-schema, --regex, --grammar and --choice, which exclude each other and the verb's
// --stop.
void add_shape_options(CLI::App& verb, ShapeArgs* args);

// Returns a matcher at the beginning of a text, or null without a constraint. Throws (kFile) where
// a file cannot be read, and the errors of compile_shape().
std::shared_ptr<const Matcher> shape_language(const ShapeArgs& args, const Tokenizer& tokenizer);

}  // namespace hearth
