#include "engine/open_model.h"

#include <fmt/format.h>
#include <sys/auxv.h>

#include <algorithm>
#include <system_error>

#include "base/bytes_text.h"
#include "base/error.h"
#include "engine/choose_weights.h"
#include "engine/tuned_plan.h"
#include "models/registry.h"

namespace hearth {

namespace fs = std::filesystem;

namespace {

void check_vocabulary(const OpenedModel& model) {
  if (model.tokenizer->size() <= model.spec.hyper.vocabulary) return;
  fail(ErrorCode::kFile,
       "'{}': the vocabulary has {} tokens, but token_embd.weight has {} rows: the file is "
       "damaged, download it again",
       model.source.name(), model.tokenizer->size(), model.spec.hyper.vocabulary);
}

// Refuses an encoder before its vocabulary is read, which may be of a kind that only encoders have.
void check_use(const ModelSource& source, const ModelSpec& spec, ModelUse use) {
  if (use != ModelUse::kText || !spec.is_encoder()) return;
  if (spec.is_reranker()) {
    fail(ErrorCode::kUnsupported,
         "'{}' is a reranker ({}), which cannot generate text: use `hearth serve` to rank "
         "documents with it",
         source.name(), spec.architecture->name);
  }
  fail(ErrorCode::kUnsupported,
       "'{}' is an encoder ({}), which computes embeddings and cannot generate text: use `hearth "
       "embed`",
       source.name(), spec.architecture->name);
}

void report_policy(const ModelSpec& spec, const Listener& listener) {
  const PolicyNotes notes = weight_policy_notes(spec);
  for (const std::string& note : notes.details) listener.detail(note);
  for (const std::string& note : notes.warnings) listener.warn(note);
}

// Tells the listener which weight types an automatic policy chose, for how many engines, and why.
void report_choice(const WeightChoice& choice, const Machine& machine, size_t engines,
                   const Listener& listener) {
  const ModelSpec& spec = choice.spec;
  const std::string weights = fmt::format("the weights of '{}'", spec.source);
  const std::string copies = engines == 1 ? "the model" : fmt::format("{} copies of it", engines);
  const std::string whole = copies + (spec.has_kv_cache() ? " with keys and values" : "");
  const std::string room = bytes_text(machine.memory_available);
  if (machine.memory_available == 0 && choice.fits && !spec.policy.type) {
    listener.detail(
        fmt::format("{} stay as they are: how much memory is available is not known", weights));
  } else if (!spec.policy.type && choice.fits) {
    listener.detail(fmt::format("{} stay as they are: {} of memory hold {}", weights, room, whole));
  } else if (!spec.policy.type) {
    listener.warn(fmt::format(
        "{} cannot be made smaller by quantising, and {} of memory are too little for {}", weights,
        room, whole));
  } else {
    listener.warn(fmt::format("{} are quantised to {}, {} {} of memory {} {}", weights,
                              policy_type_name(*spec.policy.type),
                              choice.fits ? "the finest type with which" : "and even so", room,
                              choice.fits ? "hold" : "do not hold", whole));
  }
}

// Tells the listener which factors of LongRoPE a model runs with.
void report_rope(const Engine& engine, const Listener& listener) {
  const auto* block = engine.spec().first<AttentionBlock>();
  if (block == nullptr || !block->rope || block->rope->short_factors.empty()) return;
  const bool longer = engine.context() > block->rope->original_context;
  listener.detail(fmt::format("RoPE's factors are those for contexts {} {}",
                              longer ? "beyond" : "up to", block->rope->original_context));
}

}  // namespace

std::unique_ptr<Tokenizer> open_tokenizer(const ModelSource& source,
                                          const std::optional<std::string>& pre,
                                          const Listener& listener) {
  std::unique_ptr<Tokenizer> tokenizer = Tokenizer::from_source(source, pre);
  // A guessed pre-tokenizer may cut text into other tokens than in training.
  const Vocab& vocab = tokenizer->vocab();
  bool guessed = vocab.kind == VocabKind::kBpe && !vocab.rules && !pre && vocab.pre == "default" &&
                 source.metadata().find("tokenizer.ggml.pre") == nullptr;
  source.require_whole();
  for (const std::string& warning : tokenizer->warnings()) {
    (guessed ? listener.warn : listener.detail)(warning);
  }
  return tokenizer;
}

OpenedModel open_model(const OpenOptions& options, const Listener& listener) {
  std::string path = options.path;
  if (path.empty()) {
    path = find_demo_model().native();
    listener.warn(fmt::format("no MODEL given: using the demo model, {}", path));
  }
  ModelSource source =
      options.use == ModelUse::kShape ? open_model_shape(path) : open_model_source(path);
  for (const std::string& note : source.notes()) listener.warn(note);
  ModelSpec spec = make_spec(source, options.weights);
  for (const std::string& note : spec.notes) listener.warn(note);
  check_use(source, spec, options.use);
  report_policy(spec, listener);
  OpenedModel model{std::move(source), std::move(spec), nullptr};
  bool there = options.tokenizer == TokenizerUse::kIfThere && model.source.has_vocabulary();
  if (there || options.tokenizer == TokenizerUse::kNeeded) {
    model.tokenizer = open_tokenizer(model.source, options.pre, listener);
    check_vocabulary(model);
  }
  return model;
}

void settle_weights(OpenedModel* model, const Machine& machine, Isa isa,
                    std::span<const EngineOptions> engines, const Listener& listener) {
  if (!model->spec.policy.automatic || engines.empty()) return;
  WeightChoice choice = choose_weights(model->source, model->spec, machine, isa, engines);
  report_choice(choice, machine, engines.size(), listener);
  report_policy(choice.spec, listener);
  model->spec = std::move(choice.spec);
  const WeightPolicy& policy = model->spec.policy;
  if (policy.importance != nullptr && !policy.type) {
    listener.warn(
        fmt::format("'{}' is not used, as nothing is quantised", policy.importance->name()));
  }
}

std::unique_ptr<Engine> start_engine(const OpenedModel& model, const Machine& machine, Isa isa,
                                     const EngineOptions& options, const Listener& listener) {
  auto engine = std::make_unique<Engine>(
      model.source, model.spec, machine, isa,
      with_tuned(machine, isa, model.spec, options, listener),
      [&](size_t done, size_t total) { listener.progress("loading", done, total); });
  // Warnings concern speed on machines with several nodes: users would not notice otherwise that
  // memory is on another node.
  for (const std::string& warning : engine->warnings()) {
    (machine.binds_memory() ? listener.warn : listener.detail)(warning);
  }
  report_rope(*engine, listener);
  uint32_t wanted =
      options.context != 0 ? options.context : std::min(model.spec.hyper.context, kMaxContext);
  if (options.asks_kv_size() && engine->context() < wanted) {
    listener.warn(fmt::format("the KV cache of {} holds a context of {} tokens instead of {}",
                              bytes_text(engine->memory().kv), engine->context(), wanted));
  }
  if (engine->context() > model.spec.hyper.context) {
    listener.warn(
        fmt::format("a context of {} is longer than the {} tokens the model was trained for",
                    engine->context(), model.spec.hyper.context));
  }
  return engine;
}

std::shared_ptr<Model> load_model(const OpenedModel& model, const Machine& machine, Isa isa,
                                  const EngineOptions& options, const Listener& listener) {
  return load_model(model.source, model.spec, machine, isa, options,
                    [&](size_t done, size_t total) { listener.progress("loading", done, total); });
}

fs::path find_demo_model(const fs::path& program_folder) {
  fs::path built = program_folder / "assets" / "demo.gguf";
  fs::path installed = program_folder.parent_path() / "share" / "hearth" / "demo.gguf";
  std::error_code error;
  for (const fs::path& path : {built, installed}) {
    if (fs::is_regular_file(path, error)) return path;
  }
  fail_field(
      ErrorCode::kUsage, "model",
      "is missing, and the bundled demo model is neither at '{}' nor at '{}': name a model file",
      built.native(), installed.native());
}

fs::path find_demo_model() {
  std::error_code error;
  fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) {  // there may be no /proc
    const auto* started = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
    if (started != nullptr) program = fs::canonical(started, error);
  }
  if (error) fail_field(ErrorCode::kUsage, "model", "is missing: name a model file");
  return find_demo_model(program.parent_path());
}

}  // namespace hearth
