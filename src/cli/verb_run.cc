// hearth run: generates text from a prompt.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <memory>
#include <random>

#include "base/error.h"
#include "cli/chat_model.h"
#include "cli/generate.h"
#include "cli/load.h"
#include "cli/model_names.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/run_output.h"
#include "cli/sampling_options.h"
#include "cli/shape_options.h"
#include "cli/text_io.h"
#include "template/chat_prompt.h"

namespace hearth {
namespace {

struct RunArgs {
  std::string model;
  TextSources prompts;
  EngineArgs engine;
  PromptGpuArgs gpu;
  SamplingParams sampling;
  std::function<void(SamplingParams*)> take_sampling;  // copies the command line's sampling options
  std::optional<uint64_t> seed;
  std::optional<std::string> pre;
  std::vector<std::string> stops, biases;
  ShapeArgs shape;
  uint32_t max_tokens = 0;
  uint32_t repeat = 1;
  std::optional<std::string> system, template_path;
  bool chat = false;
  bool no_bos = false, special = false, ignore_eos = false, echo = false;
  bool json = false, quiet = false, offline = false;
};

// Tokens for text after a long prompt where neither -n nor --ctx is given.
constexpr uint32_t kRoom = 1024;
constexpr uint32_t kMaxRepeats = 1024;
// The most texts generated at the same time; others wait for one to end.
constexpr size_t kMaxConcurrentTexts = 32;

constexpr const char* kDemoPrompt = "Tell me a story about a fox and a kite.";

// Parses ID=VALUE, ID+VALUE or ID-VALUE.
std::pair<int32_t, float> parse_bias(const std::string& text) {
  const char* end = text.data() + text.size();
  int32_t id = 0;
  auto [sign, id_error] = std::from_chars(text.data(), end, id);
  if (id_error == std::errc{} && sign != end) {
    bool minus = *sign == '-', plus = *sign == '+', equals = *sign == '=';
    float value = 0;
    auto [stop, error] = std::from_chars(sign + 1, end, value);
    if ((minus || plus || equals) && error == std::errc{} && stop == end) {
      return {id, minus ? -value : value};
    }
  }
  fail(ErrorCode::kUsage,
       "--logit-bias '{}' is not of the form ID=VALUE, ID+VALUE or ID-VALUE, such as 15=-inf",
       text);
}

// Returns the prompts. Where neither a model nor a prompt is named, the demo model gets a built-in
// prompt, which is printed before its text.
std::vector<std::string> read_prompts(RunArgs* args, bool demo) {
  if (!args->prompts.texts.empty()) return args->prompts.texts;
  TextSource source{{}, args->prompts.path};
  bool ask = !demo || source.path || !stdin_is_terminal();
  // A final newline from an editor or echo is not part of the prompt.
  std::string text = ask ? without_last_newline(read_source(source, "the prompt")) : "";
  if (demo && !source.path && text.empty()) {
    args->echo = !args->json;
    text = kDemoPrompt;
  }
  return {text};
}

// Makes the renderer of chat prompts where --chat is given.
std::optional<ChatPrompt> make_chat(const RunArgs& args, const OpenedModel& model) {
  if (!args.chat) return std::nullopt;
  std::optional<std::string> text;
  if (args.template_path) text = read_text(*args.template_path);
  return std::make_optional<ChatPrompt>(model.source, *model.tokenizer, text);
}

std::vector<int32_t> encode_turn(const RunArgs& args, const ChatPrompt& chat,
                                 const std::string& text) {
  boost::json::array messages;
  if (args.system) messages.push_back({{"role", "system"}, {"content", *args.system}});
  messages.push_back({{"role", "user"}, {"content", text}});
  std::vector<int32_t> tokens = chat.encode(chat.render(messages, {}));
  if (tokens.empty())
    fail(ErrorCode::kRequest,
         "the chat template turns the message into an empty prompt: give another with "
         "--chat-template FILE");
  return tokens;
}

std::vector<int32_t> encode_prompt(const RunArgs& args, const Tokenizer& tokenizer,
                                   const std::string& text) {
  EncodeOptions encode;
  if (args.no_bos) encode.add_bos = false;
  encode.add_eos = false;
  encode.parse_special = args.special;
  std::vector<int32_t> tokens = tokenizer.encode(text, encode);
  if (tokens.empty()) {
    fail(ErrorCode::kRequest,
         "the prompt is empty, and the model adds no beginning-of-text token: give text with -p, "
         "-f or on standard input");
  }
  return tokens;
}

// Returns the context to use. Throws where the prompt does not fit.
uint32_t choose_context(const RunArgs& args, const HyperParameters& hyper, size_t prompt) {
  uint32_t asked = args.engine.context;
  uint32_t most = std::min(hyper.context, kMaxContext);
  if (asked == 0 && prompt > most) {
    fail(ErrorCode::kRequest,
         "the prompt has {} tokens, more than the model's context of {}: shorten the prompt, or "
         "force a longer context with --ctx",
         prompt, most);
  }
  if (asked == 0) {
    uint64_t wanted = prompt + (args.max_tokens > 0 ? args.max_tokens : kRoom);
    return static_cast<uint32_t>(
        std::min<uint64_t>(most, std::max<uint64_t>(wanted, kDefaultContext)));
  }
  if (prompt > asked) {
    fail(ErrorCode::kRequest,
         "the prompt has {} tokens, more than the context of {}: raise --ctx (the model was "
         "trained for {}) or shorten the prompt",
         prompt, asked, hyper.context);
  }
  return asked;
}

SamplingParams settle_sampling(const RunArgs& args, const Tokenizer& tokenizer,
                               const HyperParameters& hyper) {
  SamplingParams params = args.sampling;
  params.seed =
      args.seed ? *args.seed : (uint64_t{std::random_device()()} << 32) | std::random_device()();
  for (const std::string& bias : args.biases) params.logit_bias.push_back(parse_bias(bias));
  if (args.ignore_eos) {
    float never = -std::numeric_limits<float>::infinity();
    for (int32_t id : tokenizer.vocab().eog) params.logit_bias.emplace_back(id, never);
  }
  check_sampling(params, hyper.vocabulary);
  return params;
}

Request settle_request(const RunArgs& args, const SamplingParams& sampling,
                       std::shared_ptr<const Matcher> language) {
  Request request;
  request.language = std::move(language);
  request.sampling = sampling;
  request.max_tokens = args.max_tokens;
  request.choices = args.repeat;
  request.stops = args.stops;
  request.logprobs = args.json;
  return request;
}

// Returns whether --chat becomes a conversation: a user is at the terminal, and gave no prompt.
bool talks(const RunArgs& args) {
  bool asked = !args.prompts.texts.empty() || args.prompts.path || args.json || args.echo;
  return args.chat && !asked && stdin_is_terminal() && stdout_is_terminal();
}

int talk_on(const RunArgs& args) {
  ChatArgs chat;
  chat.serve.model = args.model;
  chat.serve.engine = args.engine;
  chat.serve.gpu = args.gpu;
  chat.serve.pre = args.pre;
  chat.serve.offline = args.offline;
  chat.serve.template_path = args.template_path;
  chat.serve.take_sampling = args.take_sampling;
  chat.system = args.system;
  return chat_with(std::move(chat));
}

int run(RunArgs args) {
  if (talks(args)) return talk_on(args);
  bool demo = args.model.empty();
  OpenedModel model = open_named_model(fetch_named_model(args.model, args.offline).path, args.pre,
                                       args.engine, TokenizerUse::kNeeded, ModelUse::kText);
  const HyperParameters& hyper = model.spec.hyper;
  const Tokenizer& tokenizer = *model.tokenizer;
  SamplingParams sampling = settle_sampling(args, tokenizer, hyper);
  std::shared_ptr<const Matcher> language = shape_language(args.shape, tokenizer);
  std::optional<ChatPrompt> chat = make_chat(args, model);
  std::vector<std::vector<int32_t>> prompts;
  size_t longest = 0;
  for (const std::string& text : read_prompts(&args, demo)) {
    prompts.push_back(chat ? encode_turn(args, *chat, text) : encode_prompt(args, tokenizer, text));
    longest = std::max(longest, prompts.back().size());
  }

  size_t texts = prompts.size() * args.repeat;
  EngineOptions options;
  options.context = choose_context(args, hyper, longest);
  bool insists = args.engine.context != 0 || args.engine.kv_bytes == 0;
  options.min_context = insists ? 0 : static_cast<uint32_t>(longest);
  // A single text has no use for kept states.
  options.state_share = texts > 1 ? kServingStateShare : 0;
  options.sequences = options.outputs =
      static_cast<uint32_t>(std::min<size_t>(texts, kMaxConcurrentTexts));
  Interrupts interrupts;
  ServiceOptions serving;
  serving.make_streamer = streamer_maker(args.gpu, args.engine.verbose);
  std::unique_ptr<Service> service =
      load_service(model, args.engine, options, &interrupts, serving);

  RunOutputOptions print{args.json, sampling.seed, service->engine().context(), {}};
  for (size_t p = 0; args.echo && p < prompts.size(); ++p) {
    print.echoes.push_back(tokenizer.decode(prompts[p], args.special || args.chat));
  }
  RunOutput output(print, texts, args.repeat);
  auto on_result = [&](const Continuation& completion, const Result& result) {
    if (result.finish == Finish::kFailed) {
      fail(ErrorCode::kFile, "'{}': {}", model.source.name(), result.error);
    }
    output.add(completion, result);
  };
  std::vector<Continuation> completions =
      generate(*service, prompts, settle_request(args, sampling, language), interrupts, on_result);
  if (!args.quiet) output.summarise(completions);
  auto cancelled = [](const Continuation& c) { return c.finish == Finish::kCancelled; };
  return std::ranges::any_of(completions, cancelled) ? kInterruptedStatus : 0;
}

void add_choice_options(CLI::App& verb, RunArgs* args) {
  args->take_sampling = add_sampling_options(verb, &args->sampling);
  add_seed(verb, &args->seed);
  verb.add_option("--logit-bias", args->biases,
                  "Add a value to a token's logit: ID=VALUE, ID+VALUE or ID-VALUE; -inf forbids "
                  "it; may be repeated")
      ->allow_extra_args(false)
      ->type_name("BIAS");
}

void add_stop_options(CLI::App& verb, RunArgs* args) {
  add_count(verb, "-n,--max-tokens", &args->max_tokens, 1, kMaxContext,
            "Most tokens to generate; default: until the text or the context ends");
  add_count(verb, "--repeat", &args->repeat, 1, kMaxRepeats,
            "Texts to generate for each prompt, with seeds SEED, SEED + 1, ...; the prompt is "
            "prefilled once")
      ->capture_default_str();
  verb.add_option("--stop", args->stops, "End the text before TEXT; may be repeated")
      ->allow_extra_args(false)
      ->check(CLI::Validator(
          [](std::string& text) { return std::string(text.empty() ? "a stop text is empty" : ""); },
          ""))
      ->type_name("TEXT");
  verb.add_flag("--ignore-eos", args->ignore_eos, "Never generate an end-of-text token");
}

void add_chat_options(CLI::App& verb, RunArgs* args) {
  CLI::Option* chat = verb.add_flag("--chat", args->chat,
                                    "Send the prompt as a user message, through the model's chat "
                                    "template; with no prompt on a terminal: as `hearth chat`");
  add_text(verb, "--system", &args->system, "TEXT", "With --chat: system message")->needs(chat);
  add_text(verb, "--chat-template", &args->template_path, "FILE",
           "With --chat: chat template (Jinja) instead of the model's own")
      ->needs(chat);
  CLI::Option* no_bos =
      verb.add_flag("--no-bos", args->no_bos, "Add no beginning-of-text token to the prompt");
  CLI::Option* special =
      verb.add_flag("--special", args->special,
                    "Read control tokens such as <|im_end|> in the prompt as tokens, not as text");
  chat->excludes(no_bos)->excludes(special);
}

}  // namespace

void add_run(CLI::App& program, Action& action) {
  CLI::App& verb = *program.add_subcommand("run", "Generate text from a prompt");
  auto args = std::make_shared<RunArgs>();
  add_model_or_demo(verb, &args->model, ModelFetch::kByVerb);
  add_offline(verb, &args->offline);
  add_text_sources(verb, &args->prompts);
  add_stop_options(verb, args.get());
  add_choice_options(verb, args.get());
  add_shape_options(verb, &args->shape);
  add_engine_options(verb, &args->engine,
                     "Context length in tokens; default: 4096, or what prompt and -n need");
  add_state_cache(verb, &args->engine.state_bytes);
  add_gpu_options(verb, &args->gpu);
  add_pre(verb, &args->pre);
  add_chat_options(verb, args.get());
  CLI::Option* echo =
      verb.add_flag("--echo", args->echo, "Print the prompt before the generated text");
  verb.add_flag("--json", args->json, "Print one JSON object per token, then one with a summary")
      ->excludes(echo);
  verb.add_flag("-q,--quiet", args->quiet, "Print no summary on standard error");
  add_examples(verb,
               "  hearth run\n"
               "  hearth run model.gguf -p 'Once upon a time' -n 64\n"
               "  hearth run unsloth/Qwen3-4B-GGUF --chat -p 'Why is the sky blue?'\n"
               "  hearth run model.gguf --chat -p 'Why is the sky blue?' --system 'Be brief.'\n"
               "  hearth run model.gguf -f prompt.txt --temp 0 --stop 'The end'\n"
               "  hearth run model.gguf -p 'Who wrote it?' --json-schema '{\"type\": \"object\"}'\n"
               "  echo 'The capital of France is' | hearth run model.gguf -n 8 --seed 7\n"
               "  hearth run model.gguf -p 'A cat' -p 'A dog' -n 32 --repeat 4\n"
               "  hearth run model.gguf -p 'Hi' --json | jq -j 'select(.text).text'");
  verb.callback([args, &action] { action = [args] { return run(*args); }; });
}

}  // namespace hearth
