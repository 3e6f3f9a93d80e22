#include "cli/topo_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/count_text.h"
#include "cli/topo_machine.h"

namespace hearth {
namespace {

uint32_t node_number(const Machine& machine, uint32_t node) { return machine.nodes[node].os_index; }

std::string shards_text(const GroupShare& share) {
  if (share.shard_end - share.shard_begin > 1) {
    return fmt::format("shards {}-{}", share.shard_begin, share.shard_end - 1);
  }
  std::string text = fmt::format("shard {}", share.shard_begin);
  return share.parts == 1 ? text
                          : fmt::format("part {} of {} of {}", share.part + 1, share.parts, text);
}

std::string shard_line(const Machine& machine, const EnginePlan& plan, uint32_t shard) {
  std::string out =
      fmt::format("  shard {} on node {}", shard, node_number(machine, plan.shard_nodes[shard]));
  double all = std::accumulate(plan.shares.begin(), plan.shares.end(), 0.0);
  bool even = std::count(plan.shares.begin(), plan.shares.end(), plan.shares[0]) ==
              static_cast<ptrdiff_t>(plan.shares.size());
  if (!even) out += fmt::format(", {:.1f} % of the weights", 100 * plan.shares[shard] / all);
  return out + "\n";
}

// Returns how many threads of the group have a shard on another node than they run on.
uint32_t strangers(const EnginePlan& plan, const Plan& phase, const PlanGroup& group) {
  uint32_t count = 0;
  for (uint32_t m : group.members) {
    count += plan.shard_nodes[phase.member_shards[m]] != plan.placement.seats[m].node;
  }
  return count;
}

std::string group_text(const Machine& machine, const EnginePlan& plan, const Plan& phase,
                       uint32_t g) {
  const PlanGroup& group = phase.groups[g];
  std::string out = fmt::format("  group {}: {}, {}\n", g, shards_text(group.share),
                                count_text(group.size(), "thread"));
  const std::vector<Seat>& seats = plan.placement.seats;
  for (auto m = group.members.begin(); m != group.members.end();) {
    uint32_t node = seats[*m].node;
    std::vector<uint32_t> pus;
    for (; m != group.members.end() && seats[*m].node == node; ++m) pus.push_back(seats[*m].pu);
    std::sort(pus.begin(), pus.end());
    out += fmt::format("    node {}: PUs {}\n", node_number(machine, node), ranges_text(pus));
  }
  if (uint32_t count = strangers(plan, phase, group); count > 0) {
    out += fmt::format("    {} on another node than the shard they read\n",
                       count_text(count, "thread"));
  }
  return out;
}

std::string phase_text(const Machine& machine, const EnginePlan& plan, const Plan& phase,
                       const std::string& name) {
  std::string out = fmt::format("{}: {}{}\n", name, count_text(phase.group_count(), "group"),
                                phase.sync == GroupSync::kLockstep ? ", in lockstep" : "");
  for (uint32_t g = 0; g < phase.group_count(); ++g) out += group_text(machine, plan, phase, g);
  const uint32_t resting = phase.member_count() - phase.worker_count();
  if (resting > 0) {
    out += fmt::format("  {} rest{}\n", count_text(resting, "thread"), resting == 1 ? "s" : "");
  }
  return out;
}

}  // namespace

std::string plan_tree_text(const Machine& machine, const EnginePlan& plan) {
  std::string out = fmt::format("plan: --threads {} --shards {}{}\n", plan.placement.seats.size(),
                                plan.shard_nodes.size(),
                                plan.placement.oversubscribed ? ", threads share PUs" : "");
  for (uint32_t s = 0; s < plan.shard_nodes.size(); ++s) {
    out += shard_line(machine, plan, s);
  }
  if (plan.experts == ExpertCut::kSpread) out += "  experts of a mixture: spread, each whole\n";
  if (plan.prefill.groups == plan.decode.groups &&
      plan.prefill.member_shards == plan.decode.member_shards) {
    return out + phase_text(machine, plan, plan.prefill, "prefill and decode");
  }
  return out + phase_text(machine, plan, plan.prefill, "prefill") +
         phase_text(machine, plan, plan.decode, "decode");
}

}  // namespace hearth
