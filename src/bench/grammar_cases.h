// JSON Schemas with documents, a case a line: {"id": ..., "schema": ..., "tests": [{"data": ...,
// "valid": true}]}. A schema may also be its text, in a string.
//
// Errors (kFile): the line, and what is wrong with it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hearth {

struct GrammarDocument {
  std::string text;
  bool valid = false;
};

struct GrammarCase {
  std::string id, schema;
  std::vector<GrammarDocument> documents;
};

// Reads cases from `lines`; `path` is named in errors.
std::vector<GrammarCase> read_grammar_cases(std::string_view lines, std::string_view path);

}  // namespace hearth
