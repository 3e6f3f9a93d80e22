#include "cli/serve_embeddings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/tell.h"
#include "cli/load.h"
#include "cli/topo_machine.h"
#include "embed/pooling.h"
#include "models/registry.h"

namespace hearth {
namespace {

// Of all cores, where a model for text is beside it.
constexpr uint32_t kShareOfCores = 4;

EmbedModelArgs embed_args(const ServeArgs& args, const Machine& machine, bool alone) {
  EmbedModelArgs embed = args.embedding;
  embed.engine.verbose = args.engine.verbose;
  if (alone) {
    embed.engine = args.engine;
  } else if (embed.devices.devices.empty()) {
    uint32_t cores = default_thread_count(machine);
    embed.devices.devices = {fmt::format("cpu:threads={}", std::max(1u, cores / kShareOfCores))};
  }
  return embed;
}

void tell_device(const DeviceReport& report) {
  std::string where = report.pus.empty() ? "" : ", CPUs " + ranges_text(report.pus);
  tell("hearth: {} {}{}: {}\n", report.queue ? "embedding on" : "not embedding on", report.name,
       where, report.why);
}

}  // namespace

bool embeds(const ModelSpec& spec) {
  return spec.is_encoder() || spec.hyper.pooling != PoolingType::kNone;
}

ServedEmbeddings::ServedEmbeddings(const ServeArgs& args, const Machine& machine, OpenedModel model,
                                   bool alone)
    : args_(embed_args(args, machine, alone)),
      machine_(machine),
      queue_tokens_(args.embed_queue),
      model_(settle_embed_model(std::move(model), args_)) {}

void ServedEmbeddings::load(const std::string& name) {
  setup_ = load_devices(args_, model_, machine_, clock_);
  for (const DeviceReport& report : setup_.reports) tell_device(report);
  require_queue(setup_);
  uint32_t context = text_context(model_, setup_);
  if (!std::isfinite(args_.devices.slo)) {
    for (DeviceQueue& queue : setup_.queues)
      queue.slots = std::max<uint64_t>(queue_tokens_, context);
  }
  queues_ = std::make_unique<QueueManager>(
      std::move(setup_.queues), dispatch_options(args_.devices), clock_, model_.query("hearth"));
  served_.emplace(ServedEmbedder{name, file_time(model_.model.source.name()),
                                 [this, name](Json& json) { write_plan(json, name); },
                                 *model_.model.tokenizer, context, *queues_,
                                 !std::isfinite(args_.devices.slo)});
}

void ServedEmbeddings::write_plan(Json& json, const std::string& name) const {
  json.key("model").text(name);
  json.key("architecture").text(model_.model.spec.architecture->name);
  json.key("pooling").text(pooling_name(model_.options.pooling));
  json.key("width").number(uint64_t{model_.width()});
  json.key("slo_seconds").real(args_.devices.slo);
  json.key("devices").array();
  for (const DeviceReport& report : setup_.reports) {
    json.object().key("name").text(report.name);
    json.key("kind").text(device_kind_name(report.kind));
    json.key("queue").boolean(report.queue).key("why").text(report.why);
    json.key("seconds_per_token").real(report.line.alpha);
    json.key("seconds_per_batch").real(report.line.beta);
    json.key("pus").array();
    for (uint32_t pu : report.pus) json.number(uint64_t{pu});
    json.end_array().end_object();
  }
  json.end_array();
}

}  // namespace hearth
