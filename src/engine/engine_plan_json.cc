#include "engine/engine_plan_json.h"

namespace hearth {
namespace {

uint32_t node_number(const Machine& machine, uint32_t node) { return machine.nodes[node].os_index; }

void json_phase(Json& json, const Plan& phase) {
  json.key(phase_name(phase.phase)).object();
  json.key("sync").text(group_sync_name(phase.sync));
  json.key("thread_shards").array();
  for (uint32_t shard : phase.member_shards) json.number(shard);
  json.end_array();
  json.key("groups").array();
  for (const PlanGroup& group : phase.groups) {
    json.object().key("first_thread").number(group.members[0]);
    json.key("threads").number(group.size()).key("members").array();
    for (uint32_t member : group.members) json.number(member);
    json.end_array();
    json.key("first_shard").number(group.share.shard_begin);
    json.key("shards").number(group.share.shard_end - group.share.shard_begin);
    json.key("part").number(group.share.part).key("parts").number(group.share.parts).end_object();
  }
  json.end_array().end_object();
}

}  // namespace

void json_plan(Json& json, const Machine& machine, const EnginePlan& plan) {
  json.key("plan").object().key("threads").array();
  for (const Seat& seat : plan.placement.seats) {
    json.object().key("pu").number(seat.pu).key("core").number(seat.core);
    json.key("node").number(node_number(machine, seat.node)).end_object();
  }
  json.end_array().key("oversubscribed").boolean(plan.placement.oversubscribed);
  json.key("shards").array();
  for (size_t s = 0; s < plan.shard_nodes.size(); ++s) {
    json.object().key("node").number(node_number(machine, plan.shard_nodes[s]));
    json.key("share").number(plan.shares[s]).end_object();
  }
  json.end_array();
  json_phase(json, plan.prefill);
  json_phase(json, plan.decode);
  json.end_object();
}

}  // namespace hearth
