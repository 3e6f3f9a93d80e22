#include "cli/serve_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes_text.h"
#include "base/tell.h"
#include "chat/turn_template.h"
#include "cli/load.h"
#include "cli/sampling_options.h"
#include "cli/text_io.h"
#include "cli/topo_machine.h"
#include "engine/engine_layout.h"
#include "server/sampling_defaults.h"

namespace hearth {
namespace {

// The smallest useful context: if memory does not suffice for it, loading fails.
constexpr uint32_t kMinContext = 256;
// How many rows of a prompt the LM head scores at a time: enough to make it worthwhile to read the
// head's weights.
constexpr uint32_t kScoredRows = 32;
// The positions for which min_bytes() reserves memory.
constexpr uint32_t kMinPositions = 4096;

}  // namespace

ServedText::ServedText(const ServeArgs& args, const Machine& machine, OpenedModel model)
    : args_(args), machine_(machine), model_(std::move(model)) {
  ConsoleListener console(args.engine.verbose);
  sampling_ = file_sampling(model_.source.metadata(), openai_sampling(), console);
  args.take_sampling(&sampling_);
  check_sampling(sampling_, model_.spec.hyper.vocabulary);
  if (args.template_path) template_text_ = read_text(*args.template_path);
  chat_.emplace(model_.source, *model_.tokenizer, template_text_);
}

EngineArgs ServedText::engine_args(const std::vector<uint32_t>& others) const {
  EngineArgs args = args_.engine;
  bool placed = args.plan.cpus || args.plan.file || !args.plan.nodes.empty();
  if (others.empty() || placed) return args;
  std::vector<uint32_t> rest = pus_beside(machine_, others);
  // If the other models leave no core, this one shares all cores with them.
  if (!rest.empty()) args.plan.cpus = ranges_text(rest);
  return args;
}

void ServedText::print_start() const {
  if (args_.quiet) return;
  const Engine& engine = service_->engine();
  std::string bytes = bytes_text(engine.memory().kv);
  if (engine.states() != nullptr) bytes += ", " + bytes_text(engine.memory().states);
  print_stderr("hearth: {} ({}); the model was trained for a context of {}\n", context_text(engine),
               bytes, model_.spec.hyper.context);
  if (!chat_->has_template()) {
    print_note(
        "the model has no chat template: to use /v1/chat/completions, give --chat-template FILE");
  }
}

// Finds the format of the model's turns, and logs it.
void ServedText::find_turns() {
  if (!chat_->has_template()) return;
  turns_ = prove_turn_format(renderer_of(*chat_), turn_vocabulary(*model_.tokenizer));
  if (args_.quiet) return;
  const TurnFormat& format = turns_.format;
  if (format.calls_tools()) {
    print_stderr("hearth: tool calls have the form '{}'{}\n", format.name,
                 format.reasons() ? "; reasoning is separated from the answer" : "");
  } else {
    print_note("tool calls are not available: the chat template " + turns_.problem);
  }
}

EngineOptions ServedText::engine_options() const {
  EngineOptions options;
  options.context = args_.engine.context;
  options.min_context = kMinContext;
  options.kv_share = kServingKvShare;
  options.state_share = kServingStateShare;
  options.sequences = options.outputs = args_.app.completions.max_running;
  options.scored_rows = kScoredRows;
  return options;
}

uint64_t ServedText::min_bytes() const {
  Machine machine = Machine::live();
  machine.memory_available = 0;  // so the result does not depend on what is free now
  for (NumaNode& node : machine.nodes) node.available_bytes = 0;
  EngineOptions options = engine_options();
  options.state_share = 0;
  set_engine(machine, args_.engine, &options);
  const EngineLayout layout =
      lay_out_engine(model_.spec, machine, environment_isa(detect_cpu_features()), options);
  const MemoryUse memory = layout.memory();
  if (options.kv_bytes != 0 || layout.kv.page_count() == 0) return memory.total();
  const uint64_t pages =
      (std::min(layout.options.context, kMinPositions) + kPagePositions - 1) / kPagePositions;
  return memory.total() - memory.kv +
         std::min<uint64_t>(memory.kv / layout.kv.page_count() * pages, memory.kv);
}

void ServedText::load(const std::string& name, const std::vector<uint32_t>& others, uint64_t room) {
  EngineArgs placed_args = engine_args(others);
  placed_args.memory_room = room;
  service_ = load_service(model_, placed_args, engine_options(), nullptr, service_options(args_));
  print_start();
  find_turns();
  backend_.emplace(*service_, *model_.tokenizer);
  const Engine& engine = service_->engine();
  std::string settings[] = {HEARTH_VERSION, args_.pre.value_or(""), template_text_.value_or("")};
  ModelFacts facts = make_model_facts(model_.source);
  facts.memory_bytes = engine.memory().total();
  served_.emplace(ServedModel{
      name, file_time(model_.source.name()), make_fingerprint(facts, engine, sampling_, settings),
      [this, name](Json& json) { json_served_plan(json, name, service_->engine(), machine_); },
      *backend_, *chat_, sampling_, chat_->has_template() ? &turns_.format : nullptr,
      turns_.problem, std::move(facts)});
}

}  // namespace hearth
