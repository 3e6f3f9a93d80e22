#include "cli/shape_options.h"

#include <fmt/format.h>

#include "base/error.h"
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
               "Generate JSON that satisfies this JSON Schema: a file, or the schema itself where "
               "it begins with {"),
      add_text(verb, "--regex", &args->regex, "PATTERN",
               "Generate a text that this pattern matches from beginning to end"),
      add_text(verb, "--grammar", &args->grammar, "FILE", "Generate a text of this grammar (GBNF)"),
      verb.add_option("--choice", args->choices,
                      "Generate one of these texts; given once for each of them")
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
  std::shared_ptr<const VocabularyTrie> vocabulary = VocabularyTrie::of(tokenizer);
  try {
    return std::make_shared<const Matcher>(compile_shape(shape, vocabulary->single_bytes()),
                                           vocabulary);
  } catch (const Error& error) {
    const std::string_view what = error.what();
    const bool named = what.starts_with(shape.name);
    throw Error(error.code(), named ? std::string(what) : fmt::format("{} {}", shape.name, what));
  }
}

}  // namespace hearth
