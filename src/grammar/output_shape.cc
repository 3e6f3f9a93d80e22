#include "grammar/output_shape.h"

#include "base/check.h"
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

}  // namespace

std::shared_ptr<const Grammar> compile_shape(const OutputShape& shape, const ByteSet& spellable) {
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

}  // namespace hearth
