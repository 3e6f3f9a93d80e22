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

EmbedModelArgs embed_args(const ServeArgs& args, const Machine& machine, const EmbedRole& role) {
  EmbedModelArgs embed = args.embedding;
  if (!role.devices) {
    embed.devices = {};
    embed.pooling.reset();
  }
  embed.engine.verbose = args.engine.verbose;
  if (role.engine) embed.engine = args.engine;
  if (role.share > 1 && embed.devices.devices.empty()) {
    uint32_t cores = default_thread_count(machine);
    embed.devices.devices = {fmt::format("cpu:threads={}", std::max(1u, cores / role.share))};
  }
  return embed;
}

EmbedModel settle(OpenedModel model, const EmbedModelArgs& args, const EmbedRole& role) {
  if (!role.ranks) return settle_embed_model(std::move(model), args);
  return settle_reranker(std::move(model), args);
}

void print_device(const DeviceReport& report, const char* what) {
  std::string where = report.pus.empty() ? "" : ", CPUs " + ranges_text(report.pus);
  print_stderr("hearth: {}{} on {}{}: {}{}\n", report.queue ? "" : "not ", what, report.name, where,
               report.why, host_cores_text(report));
}

}  // namespace

bool embeds(const ModelSpec& spec) {
  return spec.is_encoder() || spec.hyper.pooling != PoolingType::kNone;
}

ServedEmbeddings::ServedEmbeddings(const ServeArgs& args, const Machine& machine, OpenedModel model,
                                   const EmbedRole& role)
    : args_(embed_args(args, machine, role)),
      role_(role),
      machine_(machine),
      queue_tokens_(args.embed_queue),
      model_(settle(std::move(model), args_, role)) {}

void ServedEmbeddings::load(const std::string& name, const std::vector<uint32_t>& others) {
  if (!others.empty() && !role_.devices) {
    std::vector<uint32_t> rest = pus_beside(machine_, others);
    // If the other models leave no core, this one shares all cores with them.
    if (!rest.empty()) args_.engine.plan.cpus = ranges_text(rest);
  }
  if (role_.ranks && !model_.model.spec.score) {
    print_stderr("hearth: reranking scores come from the logits of 'yes' and 'no'\n");
  }
  setup_ = load_devices(args_, model_, machine_, clock_);
  for (const DeviceReport& report : setup_.reports) {
    print_device(report, role_.ranks ? "ranking" : "embedding");
  }
  require_queue(setup_);
  uint32_t context = text_context(model_, setup_);
  if (!std::isfinite(args_.devices.slo)) {
    for (DeviceQueue& queue : setup_.queues)
      queue.slots = std::max<uint64_t>(queue_tokens_, context);
  }
  queues_ = std::make_unique<QueueManager>(
      std::move(setup_.queues), dispatch_options(args_.devices), clock_, model_.query("hearth"));
  served_.emplace(ServedEmbedder{
      name, file_time(model_.model.source.name()),
      [this, name](Json& json) { write_plan(json, name); }, *model_.model.tokenizer, context,
      *queues_, !std::isfinite(args_.devices.slo), model_.pairs ? &*model_.pairs : nullptr,
      make_model_facts(model_.model.source)});
}

void ServedEmbeddings::write_plan(Json& json, const std::string& name) const {
  json.key("model").text(name);
  json.key("architecture").text(model_.model.spec.architecture->name);
  if (role_.ranks) {
    json.key("scores").text(model_.model.spec.score ? "head" : "yes and no");
  } else {
    json.key("pooling").text(pooling_name(model_.options.pooling));
    json.key("width").number(uint64_t{model_.width()});
  }
  json.key("slo_seconds").real(args_.devices.slo);
  json.key("devices").array();
  for (const DeviceReport& report : setup_.reports) {
    json.object().key("name").text(report.name);
    json.key("kind").text(device_kind_name(report.kind));
    json.key("queue").boolean(report.queue).key("why").text(report.why);
    json.key("seconds_per_token").real(report.line.alpha);
    json.key("seconds_per_batch").real(report.line.beta);
    json.key("host_cores").number(uint64_t{report.host_cores});
    json.key("pus").array();
    for (uint32_t pu : report.pus) json.number(uint64_t{pu});
    json.end_array().end_object();
  }
  json.end_array();
}

}  // namespace hearth
