// Options that say what a generated text must look like.
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

// --json-schema, --regex, --grammar and --choice; one of them may be given, and no --stop, which
// the verb has.
void add_shape_options(CLI::App& verb, ShapeArgs* args);

// Returns where a text of that shape begins, or null where any text will do. Throws (kFile) where a
// file cannot be read, and what compile_shape() does.
std::shared_ptr<const Matcher> shape_language(const ShapeArgs& args, const Tokenizer& tokenizer);

}  // namespace hearth
