// hearth tokenize: converts text to token ids and back.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <memory>

#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"
#include "cli/load.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/text_io.h"
#include "models/registry.h"

namespace hearth {
namespace {

struct TokenizeArgs {
  std::string model;
  TextSource source;
  std::optional<std::string> pre;
  bool special = false, no_bos = false, no_special = false, json = false, decode = false,
       lines = false, verbose = false;
};

// The most bytes of a token that are shown: a hostile vocabulary could fill the screen.
constexpr size_t kShownTokenBytes = 512;

// Parses ids separated by spaces, commas or newlines, with or without the brackets of a JSON array.
std::vector<int32_t> parse_ids(std::string_view text) {
  constexpr std::string_view kBetween = " \t\r\n,[]";
  std::vector<int32_t> ids;
  for (size_t at = text.find_first_not_of(kBetween); at != std::string_view::npos;) {
    size_t end = std::min(text.find_first_of(kBetween, at), text.size());
    int32_t id = 0;
    auto [stop, error] = std::from_chars(text.data() + at, text.data() + end, id);
    if (error != std::errc{} || stop != text.data() + end) {
      fail(ErrorCode::kRequest,
           "'{}' is not a token id: give whole numbers, separated by spaces or commas",
           printable(text.substr(at, end - at)));
    }
    ids.push_back(id);
    at = text.find_first_not_of(kBetween, end);
  }
  return ids;
}

// Calls of(line) for every line of the source's text. Writes the results in pieces, so that a large
// result is not also held as a whole.
template <typename Of>
void for_each_line(const TokenizeArgs& args, const std::string& what, Of of) {
  constexpr size_t kPieceBytes = 1 << 16;
  const std::string text = read_source(args.source, what);
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    out += of(std::string_view(text).substr(at, end - at));
    at = end + 1;
    if (out.size() < kPieceBytes) continue;
    write_stdout(out);
    out.clear();
  }
  write_stdout(out);
}

void decode_lines(const TokenizeArgs& args, const Tokenizer& tokenizer) {
  for_each_line(args, "the ids", [&](std::string_view line) {
    std::string text = tokenizer.decode(parse_ids(line), args.special);
    return args.json ? Json().text(text).line() : text + "\n";
  });
}

void decode(const TokenizeArgs& args, const Tokenizer& tokenizer) {
  if (args.lines) return decode_lines(args, tokenizer);
  std::string text = tokenizer.decode(parse_ids(read_source(args.source, "the ids")), args.special);
  if (args.json) {
    write_stdout(Json().text(text).line());
    return;
  }
  write_stdout(text);
  if (stdout_is_terminal()) write_stdout("\n");
}

void encode(const TokenizeArgs& args, const Tokenizer& tokenizer) {
  EncodeOptions options;
  if (args.no_bos || args.no_special) options.add_bos = false;
  if (args.no_special) options.add_eos = false;
  options.parse_special = args.special;
  if (args.lines) {
    for_each_line(args, "the texts", [&](std::string_view line) {
      std::vector<int32_t> ids = tokenizer.encode(line, options);
      return args.json ? fmt::format("[{}]\n", fmt::join(ids, ","))
                       : fmt::format("{}\n", fmt::join(ids, " "));
    });
    return;
  }
  std::vector<int32_t> ids = tokenizer.encode(read_source(args.source, "the text"), options);
  if (args.json) {
    Json json;
    json.array();
    for (int32_t id : ids) json.integer(id);
    write_stdout(json.end_array().line());
    return;
  }
  std::string lines;
  for (int32_t id : ids) {
    lines +=
        fmt::format("{}\t{}\n", id, printable(tokenizer.token_bytes(id, true), kShownTokenBytes));
  }
  write_stdout(lines);
}

int tokenize(const TokenizeArgs& args) {
  ModelSource source = open_model_source(args.model, UnknownTypes::kKeep);
  ConsoleListener console(args.verbose);
  std::unique_ptr<Tokenizer> tokenizer = open_tokenizer(source, args.pre, console);
  if (args.decode) {
    decode(args, *tokenizer);
  } else {
    encode(args, *tokenizer);
  }
  return 0;
}

}  // namespace

void add_tokenize(CLI::App& program, Action& action) {
  CLI::App& verb =
      *program.add_subcommand("tokenize", "Turn text into token ids, or ids into text");
  auto args = std::make_shared<TokenizeArgs>();
  add_model(verb, &args->model);
  add_text_source(verb, &args->source);
  add_pre(verb, &args->pre);
  CLI::Option* decode_flag =
      verb.add_flag("--decode", args->decode, "Read ids and print their text");
  verb.add_flag(
      "--special", args->special,
      "Read control tokens in the text as tokens, not as text; with --decode, print them");
  verb.add_flag("--no-bos", args->no_bos, "Add no beginning-of-text token")->excludes(decode_flag);
  verb.add_flag("--no-special", args->no_special, "Add no token before or after the text")
      ->excludes(decode_flag);
  verb.add_flag("--json", args->json, "Print one JSON array of ids; with --decode, a JSON string");
  verb.add_flag("--lines", args->lines,
                "Treat every line as a separate text (or its ids); print one line for each");
  verb.add_flag("-v,--verbose", args->verbose, "Show what is unusual about the vocabulary");
  add_examples(verb,
               "  hearth tokenize model.gguf -p 'Hello, world'\n"
               "  hearth tokenize model.gguf --json < page.txt > ids.json\n"
               "  hearth tokenize model.gguf --decode < ids.json\n"
               "  hearth tokenize model.gguf --lines --json < texts.txt > ids.jsonl");
  verb.callback([args, &action] { action = [args] { return tokenize(*args); }; });
}

}  // namespace hearth
