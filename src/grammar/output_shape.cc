#include "grammar/output_shape.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "grammar/gbnf.h"
#include "grammar/schema.h"

namespace hearth {
namespace {

std::shared_ptr<const Grammar> schema_grammar(std::string_view schema, const std::string& name,
                                              const ByteSet& spellable) {
  SchemaOptions options;
  options.name = name;
  options.spellable = spellable;
  return compile_schema(schema, options).grammar;
}

std::shared_ptr<const Grammar> grammar_of(const OutputShape& shape, const ByteSet& spellable) {
  switch (shape.kind) {
    case OutputKind::kFree:
      break;
    case OutputKind::kJsonObject:
      return schema_grammar(R"({"type":"object"})", shape.name, spellable);
    case OutputKind::kJsonSchema:
      return schema_grammar(shape.text, shape.name, spellable);
    case OutputKind::kRegex:
      return pattern_grammar(shape.text, spellable);
    case OutputKind::kChoice:
      return choice_grammar(shape.choices, spellable);
    case OutputKind::kGbnf:
      return gbnf_grammar(shape.text, spellable);
  }
  HEARTH_CHECK(false, "free text has no grammar");
}

}  // namespace

std::shared_ptr<const Matcher> compile_shape(const OutputShape& shape,
                                             std::shared_ptr<const VocabularyTrie> vocabulary) {
  std::shared_ptr<const Grammar> grammar;
  try {
    grammar = grammar_of(shape, vocabulary->single_bytes());
  } catch (const SchemaTooComplex&) {
    throw;
  } catch (const Error& error) {
    const std::string_view what = error.what();
    if (what.starts_with(shape.name)) throw;
    throw Error(error.code(), fmt::format("{} {}", shape.name, what));
  }
  return std::make_shared<const Matcher>(std::move(grammar), std::move(vocabulary));
}

}  // namespace hearth
