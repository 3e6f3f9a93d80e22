// JSON Schemas with documents, one case a line: {"id": ..., "schema": ..., "tests": [{"data": ...,
// "valid": true}]}. "schema" may also be a string with the schema's text.
//
// Errors (kFile) name the line and say what is wrong with it.
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

// Reads cases from `lines`. Errors name `path`.
std::vector<GrammarCase> read_grammar_cases(std::string_view lines, std::string_view path);

}  // namespace hearth
