#include "grammar/output_shape.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "grammar/gbnf.h"
#include "grammar/schema.h"

namespace hearth {

bool is_json(OutputKind kind) {
  return kind == OutputKind::kJsonObject || kind == OutputKind::kJsonSchema;
}

namespace {

Symbol add_shape_schema(GrammarBuilder& builder, std::string_view schema, const std::string& name) {
  SchemaOptions options;
  options.name = name;
  std::vector<std::string> dropped;
  return add_schema(builder, schema, options, dropped);
}

Symbol add_text(GrammarBuilder& builder, const OutputShape& shape) {
  switch (shape.kind) {
    case OutputKind::kFree:
      break;
    case OutputKind::kJsonObject:
      return add_shape_schema(builder, R"({"type":"object"})", shape.name);
    case OutputKind::kJsonSchema:
      return add_shape_schema(builder, shape.text, shape.name);
    case OutputKind::kRegex:
      return add_pattern(builder, shape.text);
    case OutputKind::kChoice:
      return add_choices(builder, shape.choices);
    case OutputKind::kGbnf:
      return add_gbnf(builder, shape.text);
  }
  HEARTH_CHECK(false, "free text has no grammar");
}

// Calls `work` and puts the shape's name before its errors.
template <typename Work>
auto naming(const OutputShape& shape, Work work) {
  try {
    return work();
  } catch (const SchemaTooComplex&) {
    throw;
  } catch (const Error& error) {
    const std::string_view what = error.what();
    if (what.starts_with(shape.name)) throw;
    const std::string_view schema = is_json(shape.kind) ? ": the schema" : "";
    throw Error(error.code(), fmt::format("{}{} {}", shape.name, schema, what));
  }
}

}  // namespace

Symbol add_shape(GrammarBuilder& builder, const OutputShape& shape) {
  return naming(shape, [&] { return add_text(builder, shape); });
}

std::shared_ptr<const Matcher> compile_shape(const OutputShape& shape,
                                             std::shared_ptr<const VocabularyTrie> vocabulary) {
  GrammarBuilder builder;
  builder.regexes().restrict_to(vocabulary->single_bytes());
  const Symbol start = add_shape(builder, shape);
  if (is_json(shape.kind)) builder.say_names_once();
  std::shared_ptr<const Grammar> grammar = naming(shape, [&] { return builder.build(start); });
  return std::make_shared<const Matcher>(std::move(grammar), std::move(vocabulary));
}

}  // namespace hearth
