#include "grammar/schema.h"

#include "grammar/schema_writer.h"

namespace hearth {

Symbol add_schema(GrammarBuilder& builder, std::string_view schema, const SchemaOptions& options,
                  std::vector<std::string>& dropped) {
  SchemaBudget budget(options.name, options.cpu_seconds, options.steps);
  SchemaDocument document(schema, options.name, options.limits);
  SchemaTexts texts(builder.regexes());
  GoalTable goals;
  SchemaAlgebra algebra(texts, goals, budget);
  SchemaReader reader(document, texts, goals, algebra, budget, options.relaxed);
  SchemaWriter writer(builder, document, texts, goals, algebra, reader, budget);
  const Symbol start = writer.write(goals.schema(document.root()));
  dropped.insert(dropped.end(), reader.dropped().begin(), reader.dropped().end());
  return start;
}

SchemaGrammar compile_schema(std::string_view schema, const SchemaOptions& options) {
  GrammarBuilder builder;
  SchemaGrammar out;
  builder.regexes().restrict_to(options.spellable);
  const Symbol start = add_schema(builder, schema, options, out.dropped);
  builder.say_names_once();
  try {
    out.grammar = builder.build(start);
  } catch (const Error& error) {
    fail(ErrorCode::kRequest, "{}: the schema {}", options.name, error.what());
  }
  return out;
}

}  // namespace hearth
