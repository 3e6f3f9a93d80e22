#include "cli/load.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>

#include "base/clock.h"
#include "base/error.h"
#include "base/progress.h"
#include "cli/text_io.h"
#include "engine/logits.h"
#include "memory/arena.h"
#include "models/registry.h"
#include "threads/pin.h"

namespace hearth {
namespace {

KvType kv_type_of(const std::string& name) {
  for (size_t i = 0; i < kKvTypes; ++i) {
    auto type = static_cast<KvType>(i);
    if (name == kv_type_name(type)) return type;
  }
  fail(ErrorCode::kUsage, "--kv-type {} is not known", name);
}

void tell_nodes(const Machine& machine, const Engine& engine) {
  if (engine.options().interleave && machine.binds_memory()) {
    fmt::print(stderr, "hearth: weights, keys and values lie on all nodes in turn\n");
    return;
  }
  for (const NodeMemory& node : engine.node_memory()) {
    fmt::print(stderr,
               "hearth: node {}: weights {}, keys and values {}, activations {}; {} of it in huge "
               "pages; {} thread{}\n",
               machine.nodes[node.node].os_index, bytes_text(node.weights), bytes_text(node.kv),
               bytes_text(node.others), bytes_text(node.huge), node.threads,
               node.threads == 1 ? "" : "s");
  }
}

}  // namespace

void tell_loaded(const GgufFile& file, const Machine& machine, const Engine& engine,
                 std::optional<double> seconds) {
  const MemoryUse& memory = engine.memory();
  fmt::print(stderr,
             "hearth: {}: {}, {}{}\n"
             "hearth: {} threads, {} kernels, context {}\n"
             "hearth: memory {}: weights {}, keys and values {}, the rest {}\n",
             file.name(), engine.config().architecture, bytes_text(file.file_bytes()),
             seconds ? fmt::format(", loaded in {:.1f} s", *seconds) : "", engine.threads(),
             isa_name(engine.isa()), engine.context(), bytes_text(memory.total()),
             bytes_text(memory.weights), bytes_text(memory.kv),
             bytes_text(memory.total() - memory.weights - memory.kv));
  tell_nodes(machine, engine);
}

Isa environment_isa(const CpuFeatures& features) {
  return choose_isa(features, std::getenv("HEARTH_ISA"));
}

DecoderConfig read_model_config(const GgufFile& file) {
  const Architecture& architecture = architecture_for(file);
  DecoderConfig config = read_decoder_config(file);
  architecture.configure(file, &config);
  return config;
}

std::unique_ptr<Tokenizer> load_tokenizer(const GgufFile& file,
                                          const std::optional<std::string>& pre, bool verbose) {
  std::unique_ptr<Tokenizer> tokenizer = Tokenizer::from_gguf(file, pre);
  bool guessed = tokenizer->vocab().kind == VocabKind::kBpe && !pre &&
                 file.metadata().find("tokenizer.ggml.pre") == nullptr;
  if (verbose || guessed) {
    for (const std::string& warning : tokenizer->warnings()) print_note(warning);
  }
  return tokenizer;
}

void check_vocabulary(const GgufFile& file, const Tokenizer& tokenizer,
                      const DecoderConfig& config) {
  if (tokenizer.size() <= config.vocabulary) return;
  fail(ErrorCode::kFile,
       "'{}': the vocabulary has {} tokens and token_embd.weight rows for {}: the file is damaged",
       file.name(), tokenizer.size(), config.vocabulary);
}

void set_engine(const Machine& machine, const EngineArgs& args, EngineOptions* options) {
  set_plan(machine, args.plan, options);
  options->kv_type = kv_type_of(args.kv_type);
  options->interleave = args.interleave;
}

std::unique_ptr<Engine> load_engine(const GgufFile& file, const EngineArgs& args,
                                    EngineOptions options, Interrupts* interrupts) {
  Isa isa = environment_isa(detect_cpu_features());
  Machine machine = Machine::live();
  set_engine(machine, args, &options);
  double start = steady_seconds();
  std::unique_ptr<Progress> progress;
  auto report = [&](size_t done, size_t total) {
    if (interrupts != nullptr) interrupts->die_if_received();
    if (!progress) progress = std::make_unique<Progress>("loading", total, bytes_text);
    progress->update(done);
  };
  auto engine = std::make_unique<Engine>(file, machine, isa, options, report);
  progress.reset();
  double took = steady_seconds() - start;
  if (args.verbose || stderr_is_terminal()) tell_loaded(file, machine, *engine, took);
  // Where nodes matter, what is not in its place costs speed that nobody would find otherwise.
  if (args.verbose || machine.binds_memory()) {
    for (const std::string& warning : engine->warnings()) print_note(warning);
  }
  if (engine->context() > engine->config().context) {
    print_note(fmt::format("a context of {} goes beyond the {} positions the model was trained for",
                           engine->context(), engine->config().context));
  }
  return engine;
}

std::unique_ptr<Service> load_service(const GgufFile& file, const EngineArgs& args,
                                      const EngineOptions& options, const Tokenizer* tokenizer,
                                      Interrupts* interrupts) {
  auto load = [&] { return load_engine(file, args, options, interrupts); };
  auto service = std::make_unique<Service>(load, tokenizer, ServiceOptions{});
  // What this thread does from now on (tokenizing, printing) stays off the cores that steps run on.
  // A refusal changes nothing but that.
  const std::vector<uint32_t>& spare = service->engine().spare_pus();
  if (!spare.empty()) set_affinity(0, spare);
  return service;
}

void for_each_row(Service& service, const GgufFile& file, std::span<const int32_t> tokens,
                  uint32_t from, const RowCallback& on_row) {
  // Room for one step's rows while the last one's are read.
  auto stream = std::make_shared<ResultStream>(2 * service.engine().options().outputs);
  Request request;
  request.prompt.assign(tokens.begin(), tokens.end());
  request.deliver = Deliver::kLogits;
  request.rows_from = from;
  service.submit(std::move(request), stream);
  for (bool more = true; more;) {
    std::optional<Result> result = stream->pop(std::chrono::hours(1));
    if (!result) continue;
    more = !result->finish;
    if (result->finish && *result->finish != Finish::kComplete) {
      fail(ErrorCode::kResource, "the model could not be run: {}", result->error);
    }
    if (!all_finite(result->row)) {
      fail(ErrorCode::kFile, "'{}': {}", file.name(), kNotNumbers);
    }
    on_row(result->index, result->row);
  }
}

}  // namespace hearth
