// Tells tests of schemas whether a schema accepts a document, over a vocabulary of single bytes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "grammar/byte_vocabulary.h"
#include "grammar/matcher.h"
#include "grammar/schema.h"

namespace hearth {

inline bool begins_with(std::string_view text, std::string_view part) {
  return text.starts_with(part);
}
inline bool has_part(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

class SaidBySchema {
 public:
  explicit SaidBySchema(std::string_view schema, bool relaxed = false)
      : made_(compile_schema(schema, {.relaxed = relaxed, .cpu_seconds = 60})),
        vocabulary_(single_byte_vocabulary()) {}

  bool operator()(std::string_view text) const {
    Matcher matcher(made_.grammar, vocabulary_);
    for (char byte : text) {
      if (!matcher.accept(static_cast<uint8_t>(byte))) return false;
    }
    return matcher.may_end();
  }
  const std::vector<std::string>& dropped() const { return made_.dropped; }

 private:
  SchemaGrammar made_;
  std::shared_ptr<const VocabularyTrie> vocabulary_;
};

// Returns the error of compiling the schema; empty where there is none.
inline std::string refusal_of_schema(std::string_view schema, const SchemaOptions& options = {}) {
  try {
    compile_schema(schema, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace hearth
