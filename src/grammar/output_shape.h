// OutputShape: what a text must look like, as a user says it, and the grammar of such texts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "grammar/byte_set.h"
#include "grammar/grammar.h"

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

// Compiles any shape but kFree; texts have only bytes of `spellable`. Throws what the compilers do,
// and (kRequest) where no text at all is left.
std::shared_ptr<const Grammar> compile_shape(const OutputShape& shape, const ByteSet& spellable);

}  // namespace hearth
