// OutputShape: what a text must look like, as a user says it, and the beginning of such texts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "grammar/grammar_builder.h"
#include "grammar/matcher.h"

namespace hearth {

enum class OutputKind : uint8_t {
  kFree,        // any text
  kJsonObject,  // any JSON object
  kJsonSchema,  // JSON that satisfies `text`, a schema (grammar/schema.h)
  kRegex,       // a whole match of `text`, a pattern (grammar/regex_parser.h)
  kChoice,      // one of `choices`
  kGbnf,        // what `text` derives (grammar/gbnf.h)
};

struct OutputShape {
  OutputKind kind = OutputKind::kFree;
  std::string name = "schema";  // the field or option that says it; errors begin with it
  std::string text = {};
  std::vector<std::string> choices = {};
};

// Returns where the texts begin that have any shape but kFree and that the vocabulary can spell.
// Throws, beginning with the shape's name, what the compilers do, and (kRequest) where no text at
// all is left.
std::shared_ptr<const Matcher> compile_shape(const OutputShape& shape,
                                             std::shared_ptr<const VocabularyTrie> vocabulary);

// Adds the texts of any shape but kFree to a grammar that has others, too. Errors as above, but for
// that of a shape without texts.
Symbol add_shape(GrammarBuilder& builder, const OutputShape& shape);
bool is_json(OutputKind kind);

}  // namespace hearth
