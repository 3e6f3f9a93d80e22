// Random plans for an existing engine. Groups, members at work and rows differ from plan to plan.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "engine/engine_plan.h"

namespace hearth {

// Returns a plan over the shards of `now`. It has one group on all shards, or up to `max_parts`
// groups on each. The members are drawn at random; some rest.
inline Plan random_plan(const Plan& now, uint32_t max_parts, std::mt19937& random) {
  Plan plan = now;
  plan.groups.clear();
  plan.sync = random() % 4 == 0 ? GroupSync::kLockstep : GroupSync::kAsync;
  const uint32_t shards = now.shard_count();
  uint32_t left = now.member_count() - shards;  // members left for further groups
  if (random() % 3 == 0) {
    plan.groups.push_back({{}, {0, shards, 0, 1}});
  } else {
    for (uint32_t s = 0; s < shards; ++s) {
      const uint32_t more = random() % (std::min(max_parts - 1, left) + 1);
      left -= more;
      for (uint32_t part = 0; part <= more; ++part) {
        plan.groups.push_back({{}, {s, s + 1, part, more + 1}});
      }
    }
  }
  std::vector<uint32_t> members = member_range(0, now.member_count());
  std::shuffle(members.begin(), members.end(), random);
  const uint32_t spare = now.member_count() - plan.group_count();
  members.resize(members.size() - random() % (spare + 1));
  for (size_t i = 0; i < members.size(); ++i) {
    const size_t g = i < plan.groups.size() ? i : random() % plan.groups.size();
    plan.groups[g].members.push_back(members[i]);
  }
  for (PlanGroup& group : plan.groups) std::sort(group.members.begin(), group.members.end());
  return plan;
}

inline EnginePlan random_plan(const EnginePlan& now, uint32_t max_parts, std::mt19937& random) {
  EnginePlan plan = now;
  plan.prefill = random_plan(now.prefill, max_parts, random);
  plan.decode = random_plan(now.decode, max_parts, random);
  plan.decode.max_rows = 1 + random() % 8;
  return plan;
}

}  // namespace hearth
