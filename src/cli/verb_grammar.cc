// hearth grammar: shows which documents a JSON Schema accepts, and what masks cost.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"
#include "bench/grammar_bench.h"
#include "bench/grammar_report.h"
#include "cli/load.h"
#include "cli/model_names.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/text_io.h"
#include "grammar/byte_vocabulary.h"
#include "grammar/schema.h"
#include "models/registry.h"

namespace hearth {
namespace {

constexpr uint32_t kMaxWalks = 1000;
constexpr size_t kShownBytes = 40;

struct GrammarArgs {
  std::string action;
  std::vector<std::string> documents;
  std::optional<std::string> schema, schemas, tokenizer;
  bool relaxed = false, json = false;
  uint32_t walks = 0;
  std::optional<uint64_t> seed;
};

GrammarVocabulary byte_texts() {
  return {single_byte_vocabulary(), [](std::string_view text) {
            std::vector<int32_t> tokens;
            for (char byte : text) tokens.push_back(static_cast<uint8_t>(byte));
            return tokens;
          }};
}

// Returns the vocabulary of the model that the command line names, else single bytes.
GrammarVocabulary vocabulary_of(const GrammarArgs& args) {
  if (!args.tokenizer) return byte_texts();
  const ModelSource source = open_model_source(*args.tokenizer, UnknownTypes::kKeep);
  ConsoleListener console(false);
  const std::shared_ptr<const Tokenizer> tokenizer = open_tokenizer(source, std::nullopt, console);
  return {VocabularyTrie::of(*tokenizer), [tokenizer](std::string_view text) {
            return tokenizer->encode(text, {.add_bos = false, .add_eos = false});
          }};
}

// Returns a text about where and why a document is refused.
std::string why_refused(const GrammarVerdict& verdict, std::string_view text) {
  std::string may;
  for (char byte : verdict.may_follow) {
    if (!may.empty()) may += ' ';
    may += byte == ' ' ? "blank" : printable({&byte, 1});
  }
  if (verdict.may_end) may += may.empty() ? "its end" : ", or its end";
  const std::string_view rest = text.substr(verdict.bytes);
  const std::string found =
      rest.empty() ? "its end" : fmt::format("'{}'", printable(rest.substr(0, kShownBytes)));
  return fmt::format("at byte {}: found {}, but only these may follow: {}", verdict.bytes, found,
                     may);
}

std::string trimmed(std::string text) {
  constexpr std::string_view kSpace = " \t\r\n";
  text.erase(std::min(text.find_last_not_of(kSpace) + 1, text.size()));
  text.erase(0, std::min(text.find_first_not_of(kSpace), text.size()));
  return text;
}

int check_documents(const GrammarArgs& args) {
  if (!args.schema) fail(ErrorCode::kUsage, "`hearth grammar check` needs --schema FILE");
  const GrammarVocabulary vocabulary = vocabulary_of(args);
  const SchemaGrammar made = compile_schema(read_text(*args.schema), {.relaxed = args.relaxed});
  for (const std::string& dropped : made.dropped) print_note("keywords ignored: " + dropped);
  bool all = true;
  for (const std::string& path : args.documents) {
    const std::string text = trimmed(read_text(path));
    const GrammarVerdict verdict = judge_text(made.grammar, vocabulary, text);
    all = all && verdict.taken;
    const std::string why = verdict.taken ? "" : why_refused(verdict, text);
    if (args.json) {
      Json json;
      json.object().key("file").text(path).key("accepted").boolean(verdict.taken);
      if (!verdict.taken) json.key("byte").number(uint64_t{verdict.bytes}).key("why").text(why);
      write_stdout(json.end_object().line());
    } else {
      write_stdout(verdict.taken ? fmt::format("{}: accepted\n", path)
                                 : fmt::format("{}: refused: {}\n", path, why));
    }
  }
  return all ? 0 : 1;
}

int bench_schemas(const GrammarArgs& args) {
  if (!args.schemas) fail(ErrorCode::kUsage, "`hearth grammar bench` needs --schemas FILE");
  const std::vector<GrammarCase> cases =
      read_grammar_cases(read_text(*args.schemas), *args.schemas);
  const GrammarBenchOptions options{
      .relaxed = args.relaxed, .walks = args.walks, .seed = args.seed.value_or(1)};
  const GrammarBenchResult result = bench_grammars(cases, vocabulary_of(args), options);
  write_stdout(args.json ? grammar_report_json(result) : grammar_report_text(result));
  return 0;
}

int grammar(const GrammarArgs& args) {
  if (args.action == "bench" && !args.documents.empty()) {
    fail(ErrorCode::kUsage,
         "unexpected word '{}': `hearth grammar bench` reads its documents from the file of "
         "--schemas",
         args.documents[0]);
  }
  return args.action == "check" ? check_documents(args) : bench_schemas(args);
}

}  // namespace

void add_grammar(CLI::App& program, Action& action) {
  CLI::App& verb = *program.add_subcommand("grammar", "Check documents against a JSON Schema");
  auto args = std::make_shared<GrammarArgs>();
  verb.add_option("WHAT", args->action, "check: documents against a schema; bench: many schemas")
      ->required()
      ->check(CLI::IsMember({"check", "bench"}))
      ->option_text("check|bench");
  verb.add_option("DOCUMENT", args->documents,
                  "Files with a document each to check; -: standard input")
      ->option_text("DOCUMENT...");
  add_text(verb, "--schema", &args->schema, "FILE", "check: the JSON Schema");
  add_text(verb, "--schemas", &args->schemas, "FILE",
           "bench: the schemas to measure, one a line, {\"id\", \"schema\", \"tests\": [{\"data\", "
           "\"valid\"}]}");
  take_model_name(add_text(verb, "--tokenizer", &args->tokenizer, "MODEL",
                           "Read documents as this model's tokens instead of bytes"));
  verb.add_flag(
      "--relaxed", args->relaxed,
      "Ignore keywords that cannot be enforced, and name them, instead of refusing the schema");
  add_count(verb, "--walks", &args->walks, 0, kMaxWalks,
            "bench: random documents to generate from each schema; --json prints them");
  add_seed(verb, &args->seed);
  verb.add_flag("--json", args->json,
                "Print JSON: with check one object a document, with bench one object");
  add_examples(verb,
               "  hearth grammar check --schema person.json alice.json bob.json\n"
               "  hearth grammar check --schema person.json --tokenizer model.gguf - < alice.json\n"
               "  hearth grammar bench --schemas schemas.jsonl --tokenizer model.gguf");
  verb.callback([args, &action] { action = [args] { return grammar(*args); }; });
}

}  // namespace hearth
