// OutputShape: the constraint on a generated text as a user states it, and its compilation to a
// Matcher.
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
  kJsonSchema,  // JSON that satisfies the schema `text` (grammar/schema.h)
  kRegex,       // matches the pattern `text` as a whole (grammar/regex_parser.h)
  kChoice,      // one of `choices`
  kGbnf,        // the grammar `text` (grammar/gbnf.h)
};

struct OutputShape {
  OutputKind kind = OutputKind::kFree;
  std::string name = "schema";  // the user's field or option, with which errors begin
  std::string text = {};
  std::vector<std::string> choices = {};
};

// Compiles any shape but kFree to a matcher at the beginning of a text, for texts that the
// vocabulary can spell. Throws the compilers' errors, which then begin with the shape's name, and
// (kRequest) if no text at all is left.
std::shared_ptr<const Matcher> compile_shape(const OutputShape& shape,
                                             std::shared_ptr<const VocabularyTrie> vocabulary);

// Adds the texts of any shape but kFree to a grammar that has other parts, and returns their
// symbol. Throws as compile_shape() does, except that a shape without texts is no error.
Symbol add_shape(GrammarBuilder& builder, const OutputShape& shape);
bool is_json(OutputKind kind);

}  // namespace hearth
