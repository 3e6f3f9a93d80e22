#include "tune/whole_team.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace hearth {
namespace {

struct Member {
  Seat seat;
  uint32_t shard = 0;
};

// Returns the same groups as a plan for a team that has these members.
Plan among(const Plan& plan, const Placement& placement, const std::vector<Member>& team) {
  std::map<uint32_t, uint32_t> number;  // by PU
  Plan out = plan;
  out.member_shards.clear();
  for (const Member& member : team) {
    number.emplace(member.seat.pu, static_cast<uint32_t>(out.member_shards.size()));
    out.member_shards.push_back(member.shard);
  }
  for (PlanGroup& group : out.groups) {
    for (uint32_t& member : group.members) member = number.at(placement.seats[member].pu);
    std::sort(group.members.begin(), group.members.end());
  }
  return out;
}

EnginePlan of_team(const EnginePlan& plan, const std::vector<Member>& team) {
  EnginePlan out = plan;
  out.placement.seats.clear();
  for (const Member& member : team) out.placement.seats.push_back(member.seat);
  for (Phase phase : {Phase::kPrefill, Phase::kDecode}) {
    out.of(phase) = among(plan.of(phase), plan.placement, team);
  }
  return out;
}

}  // namespace

EnginePlan with_all_pus(const Machine& machine, const EnginePlan& plan) {
  std::map<uint32_t, uint32_t> shard_of_node, shard_of_pu;
  for (uint32_t m = 0; m < plan.placement.seats.size(); ++m) {
    const Seat& seat = plan.placement.seats[m];
    shard_of_pu.emplace(seat.pu, plan.decode.member_shards[m]);
    shard_of_node[seat.node] = plan.decode.member_shards[m];
  }
  const auto all = static_cast<uint32_t>(machine.allowed_pus.size());
  std::vector<Member> team;
  for (const Seat& seat : place_threads(machine, {.threads = all}).seats) {
    const auto node = shard_of_node.find(seat.node);
    if (node == shard_of_node.end()) continue;
    const auto own = shard_of_pu.find(seat.pu);
    team.push_back({seat, own == shard_of_pu.end() ? node->second : own->second});
  }
  std::stable_sort(team.begin(), team.end(),
                   [](const Member& a, const Member& b) { return a.shard < b.shard; });
  return of_team(plan, team);
}

EnginePlan without_resting(const EnginePlan& plan) {
  std::set<uint32_t> kept, nodes;
  for (Phase phase : {Phase::kPrefill, Phase::kDecode}) {
    for (uint32_t m : plan.of(phase).working_members()) {
      kept.insert(m);
      nodes.insert(plan.placement.seats[m].node);
    }
  }
  std::vector<Member> team;
  for (uint32_t m = 0; m < plan.placement.seats.size(); ++m) {
    const Seat& seat = plan.placement.seats[m];
    if (!kept.contains(m) && !nodes.insert(seat.node).second) continue;
    team.push_back({seat, plan.decode.member_shards[m]});
  }
  return of_team(plan, team);
}

}  // namespace hearth
