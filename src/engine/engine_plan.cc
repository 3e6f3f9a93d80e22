#include "engine/engine_plan.h"

#include <algorithm>

#include "base/error.h"

namespace hearth {

void settle_options(const DecoderConfig& config, EngineOptions* options) {
  if (options->context == 0) options->context = std::min(config.context, kDefaultContext);
  if (options->context > kMaxContext) {
    fail(ErrorCode::kUsage, "--ctx {} is more than the {} positions this program handles",
         options->context, kMaxContext);
  }
  // More rows than a context holds are never used.
  options->prefill_rows =
      std::clamp(options->prefill_rows, 1u, std::max(1u, options->context * options->sequences));
  options->decode_rows = std::min(options->decode_rows, options->prefill_rows);
  options->outputs = std::clamp(options->outputs, 1u, options->prefill_rows);
  options->hidden_rows = std::min(options->hidden_rows, options->prefill_rows);
  uint32_t least = pages_for(options->context);
  if (options->kv_pages != 0 && options->kv_pages < least) {
    fail(ErrorCode::kUsage, "{} KV pages do not hold one context of {}, which takes {}",
         options->kv_pages, options->context, least);
  }
  if (options->prefill_groups == 0) options->prefill_groups = options->shards;
  if (options->decode_groups == 0) options->decode_groups = options->shards;
}

EnginePlan plan_engine(const Machine& machine, const EngineOptions& options) {
  EnginePlan plan;
  PlacementOptions where;
  where.threads = options.threads;
  plan.placement = place_threads(machine, where);
  auto members = static_cast<uint32_t>(plan.placement.seats.size());
  std::vector<Placement::NodeSeats> nodes = plan.placement.by_node();
  if (options.shards > 1 && nodes.size() < options.shards) {
    fail(ErrorCode::kUsage, "the model cannot be cut over {} nodes: threads sit on {}",
         options.shards, nodes.size());
  }
  for (uint32_t s = 0; s < options.shards; ++s) plan.shard_nodes.push_back(nodes[s].node);
  plan.prefill = even_plan(Phase::kPrefill, options.prefill_rows, options.shards,
                           options.prefill_groups, members);
  plan.decode = even_plan(Phase::kDecode, options.decode_rows, options.shards,
                          options.decode_groups, members);
  return plan;
}

}  // namespace hearth
