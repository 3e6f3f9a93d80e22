#include "cli/embed_model.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/error.h"
#include "cli/load.h"
#include "embed/embed_text.h"
#include "threads/pin.h"

namespace hearth {
namespace {

constexpr uint32_t kMaxBatch = 1u << 16;
// The most texts in a step: each takes at least one KV page.
constexpr uint32_t kStepTexts = 128;

EmbedOptions settle_embedding(const EmbedModelArgs& args, const ModelSpec& spec) {
  std::optional<PoolingType> asked;
  for (PoolingType pooling : kPoolings) {
    if (args.pooling == pooling_name(pooling)) asked = pooling;
  }
  EmbedOptions embed{settle_pooling(spec, asked), !args.no_normalise};
  for (const std::string& device : args.devices.devices) {
    if (embed.normalise || device.starts_with("cpu") || device.starts_with("gpu")) continue;
    fail(ErrorCode::kUsage,
         "--no-normalize works only on this machine's devices: '{}' always returns vectors of "
         "length 1; leave one of them out",
         device);
  }
  return embed;
}

EngineOptions settle_engine(const EmbedModelArgs& args, const ModelSpec& spec,
                            PoolingType pooling) {
  EngineOptions options;
  options.context = args.engine.context;
  options.kv_bytes = args.engine.kv_bytes;
  options.prefill_rows = args.batch;
  options.items = kStepTexts;
  return embed_engine_options(spec, pooling, options);
}

// Returns the tokens "yes" and "no", whose logits score whether a document answers a query.
YesNo yes_and_no(const ModelSpec& spec, const Tokenizer& tokenizer) {
  if (!spec.head) {
    fail(ErrorCode::kUnsupported,
         "'{}' has no head that scores pairs of texts (cls.output): it is not a reranker, or was "
         "converted without its head; use a reranker",
         spec.source);
  }
  const YesNo words{tokenizer.find_token("yes"), tokenizer.find_token("no")};
  if (words.yes != Vocab::kNone && words.no != Vocab::kNone) return words;
  fail(ErrorCode::kUnsupported,
       "'{}' is not a reranker: it has no head that scores pairs of texts, and its vocabulary has "
       "no tokens 'yes' and 'no'; use a reranker",
       spec.source);
}

}  // namespace

void add_pooling(CLI::App& verb, std::optional<std::string>* pooling) {
  std::vector<std::string> poolings;
  for (PoolingType type : kPoolings) poolings.emplace_back(pooling_name(type));
  add_text(verb, "--pooling", pooling, "NAME",
           "Which token vectors make a text's vector: the first (cls), the mean of all, or the "
           "last; default: as the file says")
      ->check(CLI::IsMember(poolings));
}

void add_embed_model_options(CLI::App& verb, EmbedModelArgs* args) {
  add_pooling(verb, &args->pooling);
  verb.add_flag("--no-normalize", args->no_normalise, "Do not scale vectors to length 1");
  add_count(verb, "-b,--batch", &args->batch, 1, kMaxBatch,
            "Tokens per step; the vectors do not depend on it")
      ->capture_default_str();
  add_device_options(verb, &args->devices);
  add_engine_options(
      verb, &args->engine,
      "Most tokens of a text; default: the model's context, for decoders at most 4096");
  add_pre(verb, &args->pre);
}

EmbedQuery EmbedModel::query(std::string_view text) const {
  return {std::string(text), embed_tokens(*model.tokenizer, text, engine.context).ids};
}

EmbedModel settle_embed_model(OpenedModel model, const EmbedModelArgs& args) {
  EmbedModel settled{std::move(model), {}, {}};
  const ModelSpec& spec = settled.model.spec;
  settled.options = settle_embedding(args, spec);
  settled.engine = settle_engine(args, spec, settled.options.pooling);
  return settled;
}

EmbedModel settle_reranker(OpenedModel model, const EmbedModelArgs& args) {
  if (args.pooling) {
    fail(ErrorCode::kUsage,
         "--pooling works only with embedding models, and '{}' is a reranker, whose pooling is "
         "fixed: leave --pooling out",
         model.spec.source);
  }
  for (const std::string& device : args.devices.devices) {
    if (device.starts_with("cpu")) continue;
    fail(ErrorCode::kUsage,
         "rerankers run only on this machine's CPUs, not on '{}': leave --device out or give cpu",
         device);
  }
  EmbedModel settled{std::move(model), {}, {}};
  const ModelSpec& spec = settled.model.spec;
  const Tokenizer& tokenizer = *settled.model.tokenizer;
  Scoring scoring;
  if (!spec.score) scoring.words = yes_and_no(spec, tokenizer);
  const bool encoder = spec.is_encoder();
  settled.options = {.pooling = encoder ? PoolingType::kCls : PoolingType::kLast,
                     .scoring = scoring};
  std::optional<std::string> prompt;
  if (!encoder) prompt = rank_prompt(settled.model.source, tokenizer);
  settled.pairs.emplace(tokenizer, prompt);
  settled.engine = settle_engine(args, spec, settled.options.pooling);
  return settled;
}

EmbedModel open_embed_model(const EmbedModelArgs& args) {
  return settle_embed_model(open_named_model(args.model, args.pre, args.engine), args);
}

EmbedSetup load_devices(const EmbedModelArgs& args, EmbedModel& model, const Machine& machine,
                        DeviceClock& clock, Interrupts* interrupts) {
  Isa isa = environment_isa(detect_cpu_features());
  bool verbose = args.engine.verbose;
  ConsoleListener console(verbose, interrupts);
  auto make_engine = [&](const EngineOptions& own) {
    ConsoleListener loading(verbose, interrupts);
    std::unique_ptr<Engine> made = start_engine(model.model, machine, isa, own, loading);
    if (verbose) print_loaded(model.model.source, machine, *made, std::nullopt);
    return made;
  };
  SetupOptions options =
      setup_options(machine, args.devices, args.engine, model.engine, model.options);
  options.spec = &model.model.spec;
  options.isa = isa;
  options.load_model = [&](const EngineOptions& own) {
    ConsoleListener loading(verbose, interrupts);
    return load_model(model.model, machine, isa, own, loading);
  };
  options.before_pools = [&](std::span<const EngineOptions> engines) {
    settle_weights(&model.model, machine, isa, engines, console);
  };
  return set_up_devices(
      machine, options, make_engine, [&](std::string_view text) { return model.query(text); },
      clock, console);
}

uint32_t text_context(const EmbedModel& model, const EmbedSetup& setup) {
  return setup.context != 0 ? setup.context : model.engine.context;
}

void leave_to_pools(const Machine& machine, const EmbedSetup& setup) {
  std::vector<uint32_t> spare = pus_beside(machine, setup.pus);
  if (!spare.empty() && !setup.pus.empty()) set_affinity(0, spare);
}

}  // namespace hearth
