#include "server/served_model.h"

#include <fmt/format.h>

#include <span>
#include <string_view>

#include "base/fnv_hash.h"
#include "engine/engine_plan_json.h"
#include "models/registry.h"

namespace hearth {
namespace {

void add_memory(const Engine& engine, const Machine& machine, Json* json) {
  const MemoryUse& memory = engine.memory();
  json->key("memory").object();
  json->key("weights").number(uint64_t{memory.weights}).key("kv").number(uint64_t{memory.kv});
  json->key("states").number(uint64_t{memory.states});
  json->key("total").number(uint64_t{memory.total()}).key("nodes").array();
  for (const NodeMemory& node : engine.node_memory()) {
    json->object().key("node").number(uint64_t{machine.nodes[node.node].os_index});
    json->key("threads").number(uint64_t{node.threads});
    json->key("weights").number(uint64_t{node.weights}).key("kv").number(uint64_t{node.kv});
    json->key("states").number(uint64_t{node.states});
    json->key("others").number(uint64_t{node.others}).key("huge").number(uint64_t{node.huge});
    json->end_object();
  }
  json->end_array().end_object();
}

}  // namespace

std::string make_fingerprint(const ModelFacts& facts, const Engine& engine,
                             const SamplingParams& sampling, std::span<const std::string> others) {
  FnvHash hash;
  for (const std::string& other : others) hash.add(other);
  hash.add(fmt::format("{} {} {} {} {} {} {} {}", sampling.temperature, sampling.top_k,
                       sampling.top_p, sampling.min_p, sampling.repeat_penalty,
                       sampling.presence_penalty, sampling.frequency_penalty,
                       sampling.penalty_window));
  hash.add(isa_name(engine.isa()));
  hash.add(kv_type_name(engine.options().kv_type));
  for (const WeightSpec& weight : engine.spec().weights) hash.add(weight.packed.name());
  for (uint32_t share : engine.model()->placement().shares) hash.add(uint64_t{share});
  hash.add(facts.digest);
  return fmt::format("fp_{:012x}", hash.value() >> 16);
}

void json_served_plan(Json& json, const std::string& name, const Engine& engine,
                      const Machine& machine) {
  const ModelPlacement& placement = engine.model()->placement();
  EnginePlan plan{engine.placement(), placement.shard_nodes, placement.shares,
                  engine.graph(Phase::kPrefill).plan, engine.graph(Phase::kDecode).plan};
  json.key("model").text(name);
  json.key("architecture").text(engine.spec().architecture->name);
  json.key("isa").text(isa_name(engine.isa())).key("context").number(uint64_t{engine.context()});
  json.key("kv_type").text(kv_type_name(engine.options().kv_type));
  json.key("kv_pages").number(uint64_t{engine.options().kv_pages});
  json.key("kv_window_pages").number(uint64_t{engine.options().window_pages});
  json.key("kept_states").number(uint64_t{engine.options().kept_states});
  json.key("page_positions").number(uint64_t{kPagePositions});
  json.key("spare_pus").array();
  for (uint32_t pu : engine.spare_pus()) json.number(uint64_t{pu});
  json.end_array();
  add_memory(engine, machine, &json);
  json_plan(json, machine, plan);
}

}  // namespace hearth
