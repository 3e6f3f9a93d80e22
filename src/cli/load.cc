#include "cli/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "accelerator/accelerator_file.h"
#include "base/bytes_text.h"
#include "base/clock.h"
#include "base/count_text.h"
#include "base/error.h"
#include "base/tell.h"
#include "cli/text_io.h"
#include "cli/topo_machine.h"
#include "engine/logits.h"
#include "models/registry.h"
#include "threads/pin.h"

namespace hearth {
namespace {

KvType kv_type_of(const std::string& name) {
  for (size_t i = 0; i < kKvTypes; ++i) {
    auto type = static_cast<KvType>(i);
    if (name == kv_type_name(type)) return type;
  }
  fail(ErrorCode::kUsage, "--kv-type {} does not exist: give one of those in --help", name);
}

void print_plan(const Engine& engine) {
  std::vector<uint32_t> pus = engine.placement().pus();
  std::sort(pus.begin(), pus.end());
  const Plan& prefill = engine.graph(Phase::kPrefill).plan;
  const Plan& decode = engine.graph(Phase::kDecode).plan;
  std::string groups = count_text(prefill.group_count(), "group");
  if (prefill.group_count() != decode.group_count()) {
    groups = fmt::format("{} in prefill, {} in decode", groups, decode.group_count());
  }
  if (prefill.sync == decode.sync) {
    groups += prefill.sync == GroupSync::kLockstep ? ", in lockstep" : "";
  } else {
    const bool first = prefill.sync == GroupSync::kLockstep;
    groups += fmt::format(", {} in lockstep", phase_name((first ? prefill : decode).phase));
  }
  print_stderr("hearth: CPUs {}; {}, {}{}\n", ranges_text(pus),
               count_text(prefill.shard_count(), "shard"), groups,
               engine.options().interleave ? ", memory interleaved" : "");
  const uint32_t usual = std::min(EngineOptions{}.decode_rows, prefill.max_rows);
  if (decode.max_rows == usual) return;
  print_stderr("hearth: decode plan: steps of up to {}\n", count_text(decode.max_rows, "row"));
}

// Returns the text about recurrent states; "" where the model has none.
std::string states_text(size_t bytes) {
  return bytes == 0 ? "" : fmt::format(", states {}", bytes_text(bytes));
}

void print_nodes(const Machine& machine, const Engine& engine) {
  if (engine.options().interleave && machine.binds_memory()) {
    print_stderr("hearth: weights and KV cache are interleaved over all NUMA nodes\n");
    return;
  }
  for (const NodeMemory& node : engine.node_memory()) {
    print_stderr(
        "hearth: node {}: weights {}, keys and values {}{}, activations {}; {} of it in huge "
        "pages; {}\n",
        machine.nodes[node.node].os_index, bytes_text(node.weights), bytes_text(node.kv),
        states_text(node.states), bytes_text(node.others), bytes_text(node.huge),
        count_text(node.threads, "thread"));
  }
}

}  // namespace

std::string context_text(const Engine& engine) {
  std::string text = fmt::format("context {}", engine.context());
  if (engine.spec().has_kv_cache()) {
    text += fmt::format(", room for {} positions of keys and values",
                        uint64_t{engine.options().kv_pages} * kPagePositions);
  }
  if (const WindowPool* windows = engine.windows(); windows != nullptr) {
    text += fmt::format(", {} of them in layers that see {}",
                        uint64_t{windows->page_count()} * kPagePositions, windows->window());
  }
  if (const StatePool* states = engine.states(); states != nullptr) {
    text += fmt::format(", and for the states of {} and {} saved ones",
                        count_text(states->places(), "text"), states->max_kept());
  }
  return text;
}

void print_loaded(const ModelSource& source, const Machine& machine, const Engine& engine,
                  std::optional<double> seconds) {
  const MemoryUse& memory = engine.memory();
  print_stderr(
      "hearth: {}: {}, {}{}\n"
      "hearth: {} threads, {} kernels, {}\n"
      "hearth: memory {}: weights {}, keys and values {}{}, the rest {}\n",
      source.name(), engine.spec().architecture->name, bytes_text(source.file_bytes()),
      seconds ? fmt::format(", loaded in {:.1f} s", *seconds) : "", engine.threads(),
      isa_name(engine.isa()), context_text(engine), bytes_text(memory.total()),
      bytes_text(memory.weights), bytes_text(memory.kv), states_text(memory.states),
      bytes_text(memory.total() - memory.weights - memory.kv - memory.states));
  print_plan(engine);
  print_nodes(machine, engine);
}

Isa environment_isa(const CpuFeatures& features) {
  return choose_isa(features, std::getenv("HEARTH_ISA"));
}

ConsoleListener::ConsoleListener(bool verbose, Interrupts* interrupts) {
  listener_.warn = print_note;
  if (verbose) listener_.detail = print_note;
  listener_.progress = [this, interrupts](std::string_view doing, uint64_t done, uint64_t total) {
    if (interrupts != nullptr) interrupts->die_if_received();
    if (!progress_) progress_ = std::make_unique<Progress>(std::string(doing), total, bytes_text);
    progress_->update(done);
    if (done == total) progress_->finish();
  };
}

OpenedModel open_named_model(const std::string& path, const std::optional<std::string>& pre,
                             bool verbose, TokenizerUse tokenizer, ModelUse use,
                             const WeightPolicy& weights) {
  ConsoleListener console(verbose);
  return open_model({path, pre, tokenizer, use, weights}, console);
}

OpenedModel open_named_model(const std::string& path, const std::optional<std::string>& pre,
                             const EngineArgs& args, TokenizerUse tokenizer, ModelUse use) {
  return open_named_model(path, pre, args.verbose, tokenizer, use,
                          weight_policy_of(args.weights, args.importance));
}

void set_engine(const Machine& machine, const EngineArgs& args, EngineOptions* options) {
  set_plan(machine, args.plan, options);
  options->kv_type = kv_type_of(args.kv_type);
  options->kv_bytes = args.kv_bytes;
  if (args.state_bytes) {
    options->state_bytes = *args.state_bytes;
    options->state_share = 0;
  }
  options->interleave = args.interleave;
}

std::unique_ptr<Engine> load_engine(OpenedModel& model, const EngineArgs& args,
                                    EngineOptions options, Interrupts* interrupts) {
  Machine machine = Machine::live();
  if (args.memory_room != 0 && machine.memory_available != 0) {
    machine.memory_available = std::min(machine.memory_available, args.memory_room);
  }
  const Isa isa = environment_isa(detect_cpu_features());
  set_engine(machine, args, &options);
  ConsoleListener console(args.verbose, interrupts);
  settle_weights(&model, machine, isa, {&options, 1}, console);
  double start = steady_seconds();
  std::unique_ptr<Engine> engine = start_engine(model, machine, isa, options, console);
  double took = steady_seconds() - start;
  if (args.verbose || stderr_is_terminal()) print_loaded(model.source, machine, *engine, took);
  return engine;
}

StreamPlanOptions stream_plan_options(const PromptGpuArgs& args) {
  StreamPlanOptions options;
  options.rows = args.rows;
  options.memory = args.memory;
  options.kept = args.layers;
  options.experts = args.experts;
  options.ring_grows = !args.experts;
  return options;
}

MeasuredAccelerator read_accelerator(const std::string& path) {
  return parse_accelerator(read_text(path), path);
}

PromptStreamOptions prompt_stream_options(const PromptGpuArgs& args) {
  PromptStreamOptions options;
  options.gpu = args.gpu.value_or("none");
  options.threshold = args.threshold;
  options.plan = stream_plan_options(args);
  const bool more =
      args.threshold != 0 || args.rows != 0 || args.memory != 0 || args.layers || args.experts;
  if (options.gpu == "none" && more) {
    fail_field(
        ErrorCode::kUsage, "gpu",
        "is missing, and other options of the GPU need it: give --gpu auto, or leave them out");
  }
  constexpr std::string_view kVirtual = "virtual:";
  if (options.gpu.starts_with(kVirtual)) {
    options.described = read_accelerator(options.gpu.substr(kVirtual.size()));
  }
  return options;
}

ServiceOptions::MakeStreamer streamer_maker(const PromptGpuArgs& args, bool print_all) {
  const PromptStreamOptions options = prompt_stream_options(args);
  if (options.gpu == "none") return {};
  Listener listener;
  listener.warn = print_note;
  if (print_all) listener.detail = print_note;
  return [options, listener](Engine& engine, std::function<void()> poke) {
    return make_prompt_streamer(engine, options, std::move(poke), listener);
  };
}

std::unique_ptr<Service> load_service(OpenedModel& model, const EngineArgs& args,
                                      const EngineOptions& options, Interrupts* interrupts,
                                      const ServiceOptions& service_options) {
  auto load = [&] { return load_engine(model, args, options, interrupts); };
  auto service = std::make_unique<Service>(load, model.tokenizer.get(), service_options);
  // Keeps this thread (tokenizing, printing) off the cores that steps run on. It does no harm if
  // that fails.
  const std::vector<uint32_t>& spare = service->engine().spare_pus();
  if (!spare.empty()) set_affinity(0, spare);
  return service;
}

void for_each_row(Service& service, const ModelSource& source, std::span<const int32_t> tokens,
                  uint32_t from, const RowCallback& on_row) {
  // Room for the rows of two steps: this thread reads those of one step while the next is computed.
  auto stream = std::make_shared<ResultStream>(2 * service.engine().options().outputs);
  Request request;
  request.prompt.assign(tokens.begin(), tokens.end());
  request.deliver = Deliver::kLogits;
  request.rows_from = from;
  JobHandle job = service.submit(std::move(request), stream);
  for (bool more = true; more;) {
    std::optional<Result> result = stream->pop(std::chrono::hours(1));
    if (!result) continue;
    more = !result->finish;
    if (result->finish && *result->finish != Finish::kComplete) {
      fail(ErrorCode::kResource, "the model could not be run: {}", result->error);
    }
    if (!all_finite(result->row)) {
      fail(ErrorCode::kFile, "'{}': {}", source.name(), kNotNumbers);
    }
    on_row(result->index, result->row);
  }
}

}  // namespace hearth
