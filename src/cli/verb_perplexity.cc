// hearth perplexity: measures how well a model predicts a text, by the method of llama.cpp's tool:
// windows that do not overlap, of which the second half is scored. So every scored token has at
// least half a window before it, and results of both programs are comparable.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>

#include "base/error.h"
#include "base/json.h"
#include "base/progress.h"
#include "cli/load.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/text_io.h"
#include "engine/logits.h"

namespace hearth {
namespace {

constexpr uint32_t kDefaultWindow = 512, kSmallestWindow = 4;
// Rows of logits per step; more would only take memory.
constexpr uint32_t kOutputs = 64;

struct PerplexityArgs {
  std::string model;
  TextSource source;
  EngineArgs engine;
  std::optional<std::string> pre;
  bool json = false;
};

// Mean and variance of the negative log-likelihoods.
class Score {
 public:
  void add(double nll) {
    sum_ += nll;
    sum_of_squares_ += nll * nll;
    ++count_;
  }
  uint64_t count() const { return count_; }
  double perplexity() const { return std::exp(mean()); }
  // Returns the perplexity's standard error: the mean's standard error, carried through exp.
  double error() const {
    if (count_ < 2) return 0;
    double variance = sum_of_squares_ / static_cast<double>(count_) - mean() * mean();
    return std::sqrt(std::max(variance, 0.0) / static_cast<double>(count_ - 1)) * perplexity();
  }

 private:
  double mean() const { return sum_ / static_cast<double>(count_); }

  double sum_ = 0, sum_of_squares_ = 0;
  uint64_t count_ = 0;
};

// Scores the predictions at positions [size / 2, size - 1).
void score_window(Service& service, const ModelSource& source, std::span<const int32_t> tokens,
                  Score* score) {
  auto first = static_cast<uint32_t>(tokens.size() / 2);
  for_each_row(service, source, tokens.first(tokens.size() - 1), first,
               [&](uint32_t position, std::span<const float> logits) {
                 score->add(log_sum_exp(logits) - logits[tokens[position + 1]]);
               });
}

void print_score(const PerplexityArgs& args, const Score& score, size_t windows) {
  uint32_t window = args.engine.context;
  if (args.json) {
    Json json;
    json.object().key("perplexity").real(score.perplexity()).key("stderr").real(score.error());
    json.key("tokens").number(score.count()).key("windows").number(windows);
    json.key("ctx").number(window).end_object();
    write_stdout(json.line());
    return;
  }
  write_stdout(fmt::format("perplexity {:.4f} +/- {:.4f} ({} tokens scored in {} windows of {})\n",
                           score.perplexity(), score.error(), score.count(), windows, window));
}

int perplexity(const PerplexityArgs& args) {
  OpenedModel model =
      open_named_model(args.model, args.pre, args.engine, TokenizerUse::kNeeded, ModelUse::kText);
  const Tokenizer& tokenizer = *model.tokenizer;
  EncodeOptions encode;
  encode.add_eos = false;
  std::vector<int32_t> tokens = tokenizer.encode(read_source(args.source, "the text"), encode);
  uint32_t window = args.engine.context;
  size_t windows = tokens.size() / window;
  if (windows == 0) {
    fail(ErrorCode::kRequest,
         "the text has {} tokens, fewer than one window of {}: give a longer text or a smaller "
         "--ctx",
         tokens.size(), window);
  }

  EngineOptions options;
  options.context = window;
  options.outputs = kOutputs;
  std::unique_ptr<Service> service = load_service(model, args.engine, options);
  bool begins_with_bos = tokenizer.adds_bos() && tokenizer.bos() != Vocab::kNone;
  Score score;
  Progress progress("scoring", windows, [](uint64_t n) { return fmt::format("{} windows", n); });
  for (size_t w = 0; w < windows; ++w) {
    std::span<int32_t> part(tokens.data() + w * window, window);
    if (begins_with_bos) part[0] = tokenizer.bos();
    score_window(*service, model.source, part, &score);
    progress.update(w + 1, fmt::format("perplexity {:.4f}", score.perplexity()));
  }
  progress.finish();
  print_score(args, score, windows);
  return 0;
}

}  // namespace

void add_perplexity(CLI::App& program, Action& action) {
  CLI::App& verb = *program.add_subcommand("perplexity", "Measure a model's perplexity on a text");
  auto args = std::make_shared<PerplexityArgs>();
  args->engine.context = kDefaultWindow;
  add_model(verb, &args->model);
  add_text_source(verb, &args->source);
  add_engine_options(verb, &args->engine, "Window length in tokens");
  verb.get_option("--ctx")->check(CLI::Validator(
      [](std::string& input) -> std::string {
        if (std::stoul(input) >= kSmallestWindow) return {};
        return fmt::format("a window of {} tokens scores nothing: give at least {}", input,
                           kSmallestWindow);
      },
      ""));
  verb.get_option("--ctx")->capture_default_str();
  add_pre(verb, &args->pre);
  verb.add_flag("--json", args->json, "Print one JSON object");
  add_examples(verb,
               "  hearth perplexity model.gguf -f wiki.test.raw\n"
               "  hearth perplexity model.gguf -f text.txt --ctx 2048 --json");
  verb.callback([args, &action] { action = [args] { return perplexity(*args); }; });
}

}  // namespace hearth
