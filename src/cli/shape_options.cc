#include "cli/shape_options.h"

#include <CLI/CLI.hpp>

#include "cli/text_io.h"
#include "grammar/output_shape.h"

namespace hearth {
namespace {

OutputShape shape_of(const ShapeArgs& args) {
  if (args.schema) {
    const bool given = args.schema->starts_with('{');
    return {OutputKind::kJsonSchema, "--json-schema",
            given ? *args.schema : read_text(*args.schema)};
  }
  if (args.regex) return {OutputKind::kRegex, "--regex", *args.regex};
  if (args.grammar) return {OutputKind::kGbnf, "--grammar", read_text(*args.grammar)};
  if (!args.choices.empty()) return {OutputKind::kChoice, "--choice", "", args.choices};
  return {};
}

}  // namespace

void add_shape_options(CLI::App& verb, ShapeArgs* args) {
  CLI::Option* all[] = {
      add_text(verb, "--json-schema", &args->schema, "FILE",
               "Generate JSON that satisfies this JSON Schema: a file, or the schema itself if it "
               "begins with {"),
      add_text(verb, "--regex", &args->regex, "PATTERN",
               "Generate a text that matches this regular expression as a whole"),
      add_text(verb, "--grammar", &args->grammar, "FILE", "Generate a text of this grammar (GBNF)"),
      verb.add_option("--choice", args->choices,
                      "Generate one of these texts; repeat the option for each")
          ->allow_extra_args(false)
          ->type_name("TEXT")};
  for (CLI::Option* one : all) {
    one->excludes(verb.get_option("--stop"));
    for (CLI::Option* other : all) {
      if (one != other) one->excludes(other);
    }
  }
}

std::shared_ptr<const Matcher> shape_language(const ShapeArgs& args, const Tokenizer& tokenizer) {
  const OutputShape shape = shape_of(args);
  if (shape.kind == OutputKind::kFree) return nullptr;
  return compile_shape(shape, VocabularyTrie::of(tokenizer));
}

}  // namespace hearth
