// hearth logits: prints a model's logits at every position of a sequence, for comparing programs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <memory>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"
#include "base/progress.h"
#include "cli/load.h"
#include "cli/npy.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/text_io.h"
#include "engine/logits.h"

namespace hearth {
namespace {

constexpr uint32_t kMaxChunk = 4096;

struct LogitsArgs {
  std::string model;
  std::vector<int32_t> tokens;
  std::optional<std::string> prompt, out, pre;
  EngineArgs engine;
  uint32_t chunk = 64, top = 5;
  bool special = false, no_bos = false, json = false;
};

// Receives the logits of one position after another.
class Output {
 public:
  virtual ~Output() = default;
  virtual void position(size_t position, int32_t token, std::span<const float> logits) = 0;
  virtual void end() {}
};

class NpyOutput : public Output {
 public:
  explicit NpyOutput(const std::string& path) : file_(path) {}
  void begin(size_t positions, size_t vocabulary) {
    std::string header = npy_header(positions, vocabulary);
    file_.write(std::as_bytes(std::span(header.data(), header.size())));
  }
  void position(size_t, int32_t, std::span<const float> logits) override {
    file_.write(std::as_bytes(logits));
  }
  void end() override { file_.commit(); }

 private:
  AtomicFile file_;
};

class TopOutput : public Output {
 public:
  // `tokenizer` may be null: then texts are left out.
  TopOutput(const Tokenizer* tokenizer, uint32_t top, bool json)
      : tokenizer_(tokenizer), top_(top), json_(json) {}

  void position(size_t position, int32_t token, std::span<const float> logits) override {
    std::vector<TokenLogit> top = top_tokens(logits, top_);
    if (json_) {
      print_json(position, token, top, log_sum_exp(logits));
    } else {
      print_text(position, token, top);
    }
  }

 private:
  // Returns the token's text; "" for ids beyond the vocabulary, which pad an embedding table.
  std::string text_of(int32_t id) const {
    if (tokenizer_ == nullptr || static_cast<size_t>(id) >= tokenizer_->size()) return {};
    return tokenizer_->token_bytes(id, true);
  }
  void print_text(size_t position, int32_t token, std::span<const TokenLogit> top) const {
    std::string line = fmt::format("{} {} '{}':", position, token, printable(text_of(token)));
    for (auto [id, logit] : top) {
      line += fmt::format("  {} '{}' {:.4f}", id, printable(text_of(id)), logit);
    }
    write_stdout(line + "\n");
  }
  void print_json(size_t position, int32_t token, std::span<const TokenLogit> top,
                  double norm) const {
    Json json;
    json.object().key("position").number(position).key("token").integer(token);
    json.key("top").array();
    for (auto [id, logit] : top) {
      json.object().key("id").integer(id).key("text").text(text_of(id));
      json.key("logit").real(logit).key("logprob").real(logit - norm).end_object();
    }
    write_stdout(json.end_array().end_object().line());
  }

  const Tokenizer* tokenizer_;
  uint32_t top_;
  bool json_;
};

std::vector<int32_t> read_tokens(const LogitsArgs& args, const Tokenizer* tokenizer,
                                 const HyperParameters& hyper) {
  std::vector<int32_t> tokens = args.tokens;
  if (args.prompt) {
    EncodeOptions encode;
    if (args.no_bos) encode.add_bos = false;
    encode.add_eos = false;
    encode.parse_special = args.special;
    tokens = tokenizer->encode(*args.prompt, encode);
  }
  if (tokens.empty())
    fail(ErrorCode::kUsage, "there are no tokens: give --tokens or a --prompt that is not empty");
  for (int32_t token : tokens) {
    if (token < 0 || static_cast<uint32_t>(token) >= hyper.vocabulary) {
      fail(ErrorCode::kUsage, "--tokens names token {}; the vocabulary has 0 to {}", token,
           hyper.vocabulary - 1);
    }
  }
  return tokens;
}

void run_tokens(Service& service, const ModelSource& source, std::span<const int32_t> tokens,
                Output& output) {
  Progress progress("logits", tokens.size(),
                    [](uint64_t n) { return fmt::format("{} tokens", n); });
  for_each_row(service, source, tokens, 0, [&](uint32_t position, std::span<const float> logits) {
    output.position(position, tokens[position], logits);
    progress.update(position + 1);
  });
}

int logits(const LogitsArgs& args) {
  OpenedModel model = open_named_model(args.model, args.pre, args.engine,
                                       args.prompt ? TokenizerUse::kNeeded : TokenizerUse::kIfThere,
                                       ModelUse::kText);
  const Tokenizer* tokenizer = model.tokenizer.get();
  const HyperParameters& hyper = model.spec.hyper;
  std::vector<int32_t> tokens = read_tokens(args, tokenizer, hyper);
  uint32_t context = args.engine.context;
  if (context != 0 && tokens.size() > context) {
    fail(ErrorCode::kRequest, "there are {} tokens, more than the context of {}: raise --ctx",
         tokens.size(), context);
  }
  std::unique_ptr<Output> output;
  if (args.out) {
    auto npy = std::make_unique<NpyOutput>(*args.out);
    npy->begin(tokens.size(), hyper.vocabulary);
    output = std::move(npy);
  } else {
    output = std::make_unique<TopOutput>(tokenizer, args.top, args.json);
  }

  EngineOptions options;
  options.context = context != 0 ? context : static_cast<uint32_t>(tokens.size());
  options.prefill_rows = options.outputs = args.chunk;
  std::unique_ptr<Service> service = load_service(model, args.engine, options);
  run_tokens(*service, model.source, tokens, *output);
  output->end();
  return 0;
}

void add_token_options(CLI::App& verb, LogitsArgs* args) {
  auto is_id = [](std::string& input) -> std::string {
    int32_t id = 0;
    const char* end = input.data() + input.size();
    auto [stop, error] = std::from_chars(input.data(), end, id);
    if (error == std::errc{} && stop == end && id >= 0) {
      // CLI11 would read 010 as 8.
      input = fmt::format("{}", id);
      return {};
    }
    return fmt::format("'{}' is not a token id", input);
  };
  CLI::Option* tokens = verb.add_option("--tokens", args->tokens, "Token ids, as 1,2,3");
  tokens->delimiter(',')
      ->allow_extra_args(false)
      ->transform(CLI::Validator(is_id, ""))
      ->type_name("IDS");
  add_text(verb, "-p,--prompt", &args->prompt, "TEXT", "Text instead of token ids")
      ->excludes(tokens);
  verb.add_flag("--no-bos", args->no_bos, "Add no beginning-of-text token")->excludes(tokens);
  verb.add_flag("--special", args->special,
                "Read control tokens in the text as tokens, not as text")
      ->excludes(tokens);
  add_pre(verb, &args->pre);
}

}  // namespace

void add_logits(CLI::App& program, Action& action) {
  CLI::App& verb = *program.add_subcommand("logits", "Print or save the logits of every position");
  auto args = std::make_shared<LogitsArgs>();
  add_model(verb, &args->model);
  add_token_options(verb, args.get());
  CLI::Option* out = add_text(verb, "-o,--output", &args->out, "FILE.npy",
                              "Save all logits as float32 [tokens, vocabulary]");
  add_count(verb, "--top", &args->top, 1, 1u << 24,
            "Without -o: how many of the likeliest tokens to print")
      ->excludes(out)
      ->capture_default_str();
  verb.add_flag("--json", args->json, "Print one JSON object a position")->excludes(out);
  add_count(verb, "--chunk", &args->chunk, 1, kMaxChunk,
            "Tokens per step; the logits do not depend on it")
      ->capture_default_str();
  add_engine_options(verb, &args->engine, "Positions of the context; default: as many as tokens");
  add_examples(verb,
               "  hearth logits model.gguf --tokens 1,15043,29892\n"
               "  hearth logits model.gguf -p 'Hello' --json --top 10\n"
               "  hearth logits model.gguf --tokens 1,2,3 -o logits.npy");
  verb.callback([args, &action] { action = [args] { return logits(*args); }; });
}

}  // namespace hearth
