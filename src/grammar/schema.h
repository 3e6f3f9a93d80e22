// Compiles a JSON Schema (drafts 4 to 2020-12) to a grammar of the documents that satisfy it.
// docs/structured-output.md lists the keywords, and says how documents are written.
//
// Errors: kRequest, 'PATH: keyword "KEYWORD" ...', for an invalid schema or one that cannot be
// enforced exactly; SchemaTooComplex (grammar/schema_budget.h) beyond the budget.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "grammar/grammar_builder.h"
#include "grammar/schema_budget.h"
#include "grammar/schema_document.h"

namespace hearth {

struct SchemaOptions {
  std::string name = "schema";  // the schema's name in errors
  // Whether a keyword that cannot be enforced is ignored for its value, instead of being refused.
  bool relaxed = false;
  SchemaLimits limits = {};
  ByteSet spellable = all_bytes();  // of documents, as in grammar/gbnf.h
  double cpu_seconds = 0.25;
  uint64_t steps = 2'000'000;
};

struct SchemaGrammar {
  std::shared_ptr<const Grammar> grammar;
  // The keywords that `relaxed` ignored, as the errors that they would have been.
  std::vector<std::string> dropped;
};

SchemaGrammar compile_schema(std::string_view schema, const SchemaOptions& options);

// Adds the rules for a value that satisfies the schema to a grammar that has other parts, and
// returns their symbol. Appends what was ignored to `dropped`.
Symbol add_schema(GrammarBuilder& builder, std::string_view schema, const SchemaOptions& options,
                  std::vector<std::string>& dropped);

}  // namespace hearth
