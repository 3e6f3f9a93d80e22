// Compiles a JSON Schema (drafts 4 to 2020-12) to a grammar of the documents that satisfy it.
// docs/structured-output.md says which keywords hold, and how documents are written.
//
// Errors: kRequest, 'PATH: keyword "KEYWORD" ...', for what is no schema or cannot be held exactly;
// SchemaTooComplex (grammar/schema_budget.h) beyond the budget.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "grammar/grammar_builder.h"
#include "grammar/schema_budget.h"
#include "grammar/schema_document.h"

namespace hearth {

struct SchemaOptions {
  std::string name = "schema";  // what errors call it
  // A keyword that cannot be held is left out for its value instead of refused.
  bool relaxed = false;
  SchemaLimits limits = {};
  ByteSet spellable = all_bytes();  // of documents, as in grammar/gbnf.h
  double cpu_seconds = 0.25;
  uint64_t steps = 2'000'000;
};

struct SchemaGrammar {
  std::shared_ptr<const Grammar> grammar;
  // The parts that `relaxed` left out, as the errors that they would have been.
  std::vector<std::string> dropped;
};

SchemaGrammar compile_schema(std::string_view schema, const SchemaOptions& options);

// Adds the rules for a value that satisfies the schema to a grammar that has others, too. Appends
// to `dropped` what was left out.
Symbol add_schema(GrammarBuilder& builder, std::string_view schema, const SchemaOptions& options,
                  std::vector<std::string>& dropped);

}  // namespace hearth
