#include "tune/plan_space.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/check.h"

namespace hearth {
namespace {

constexpr uint32_t kRestingOneIn = 4;

// A group of a partition: its members, and the shards that they stand on, both rising.
struct Standing {
  std::vector<uint32_t> members, shards;
};

std::vector<Standing> stand(const PlanSpace& space, const TopoTree::Partition& partition) {
  std::map<uint32_t, uint32_t> member_on;  // by PU
  for (uint32_t m = 0; m < space.placement.seats.size(); ++m) {
    member_on.emplace(space.placement.seats[m].pu, m);
  }
  std::vector<Standing> groups;
  for (const std::vector<uint32_t>& pus : partition) {
    Standing& group = groups.emplace_back();
    for (uint32_t pu : pus) {
      auto member = member_on.find(pu);
      HEARTH_CHECK(member != member_on.end(), "partitions are of PUs with a seat");
      group.members.push_back(member->second);
      group.shards.push_back(space.start.member_shards[member->second]);
    }
    std::sort(group.members.begin(), group.members.end());
    std::sort(group.shards.begin(), group.shards.end());
    group.shards.erase(std::unique(group.shards.begin(), group.shards.end()), group.shards.end());
  }
  return groups;
}

// Deals the shards to the groups, from the first shard to the last.
class Dealer {
 public:
  Dealer(const std::vector<Standing>& groups, uint32_t shards) : groups_(groups), on_(shards) {
    for (uint32_t g = 0; g < groups.size(); ++g) {
      for (uint32_t s : groups[g].shards) on_[s].push_back(g);
    }
  }

  // Returns the groups, each with the shards or the part of a shard that it takes, in a plan's
  // order. Returns none where the rules of PlanSpace allow no plan. `max_groups`: by shard, how
  // many groups may share it. Called once.
  std::optional<std::vector<PlanGroup>> deal(const std::vector<uint32_t>& max_groups) {
    const auto shards = static_cast<uint32_t>(on_.size());
    uint32_t begin = 0;  // of the next group's shards, those without threads too
    for (uint32_t s = 0; s < shards;) {
      const std::vector<uint32_t>& here = on_[s];
      if (here.empty()) {
        if (!dealt_.empty() && dealt_.back().share.parts == 1 && begin == s) {
          dealt_.back().share.shard_end = begin = s + 1;
        }
        ++s;
        continue;
      }
      if (here.size() > 1) {
        if (begin != s || here.size() > max_groups[s] || !deal_parts(s)) return std::nullopt;
        begin = ++s;
        continue;
      }
      const uint32_t end = end_of(s);
      if (end == 0) return std::nullopt;
      dealt_.push_back({groups_[here[0]].members, {begin, end, 0, 1}});
      begin = s = end;
    }
    if (begin != shards) return std::nullopt;
    return std::move(dealt_);
  }

 private:
  bool deal_parts(uint32_t s) {
    const auto parts = static_cast<uint32_t>(on_[s].size());
    for (uint32_t part = 0; part < parts; ++part) {
      const Standing& group = groups_[on_[s][part]];
      if (group.shards.size() > 1) return false;
      dealt_.push_back({group.members, {s, s + 1, part, parts}});
    }
    return true;
  }

  // If the group whose first shard is s stands alone on all its shards, returns the end of these
  // shards; else 0.
  uint32_t end_of(uint32_t s) const {
    const uint32_t g = on_[s][0], end = groups_[g].shards.back() + 1;
    for (uint32_t between = s; between < end; ++between) {
      for (uint32_t other : on_[between]) {
        if (other != g) return 0;
      }
    }
    return end;
  }

  const std::vector<Standing>& groups_;
  std::vector<std::vector<uint32_t>> on_;  // groups, by shard
  std::vector<PlanGroup> dealt_;
};

// Whether each part of the shard has some of the axis when it is cut into so many parts.
bool all_have_some(const AxisCuts& cuts, uint32_t shard, uint32_t parts) {
  for (uint32_t part = 0; part < parts; ++part) {
    if (cuts.part_units(shard, part, parts).size() == 0) return false;
  }
  return true;
}

}  // namespace

uint32_t PlanSpace::max_groups_of_all() const {
  return std::accumulate(max_groups.begin(), max_groups.end(), 0u);
}

// Returns the partition without so many cores that max_cores of them are left.
TopoTree::Partition PlanSpace::spared(const TopoTree::Partition& partition) const {
  std::map<uint32_t, uint32_t> core_of;  // by PU
  for (const Seat& seat : placement.seats) core_of.emplace(seat.pu, seat.core);
  std::set<uint32_t> begun, at_work;
  for (uint32_t m : start.working_members()) begun.insert(placement.seats[m].core);
  for (const std::vector<uint32_t>& pus : partition) {
    for (uint32_t pu : pus) at_work.insert(core_of.at(pu));
  }
  if (at_work.size() <= max_cores) return partition;
  std::vector<uint32_t> order(at_work.begin(), at_work.end());
  std::stable_partition(order.begin(), order.end(),
                        [&](uint32_t core) { return begun.contains(core); });
  order.resize(max_cores);
  const std::set<uint32_t> kept(order.begin(), order.end());
  TopoTree::Partition left;
  for (std::vector<uint32_t> pus : partition) {
    std::erase_if(pus, [&](uint32_t pu) { return !kept.contains(core_of.at(pu)); });
    if (!pus.empty()) left.push_back(std::move(pus));
  }
  return left;
}

std::optional<Plan> PlanSpace::plan_of(const TopoTree::Partition& partition) const {
  const std::vector<Standing> groups = stand(*this, spared(partition));
  std::optional<std::vector<PlanGroup>> dealt =
      Dealer(groups, start.shard_count()).deal(max_groups);
  if (!dealt) return std::nullopt;
  Plan plan = start;
  plan.groups = *std::move(dealt);
  check_plan(plan);
  return plan;
}

std::vector<Plan> resting_plans(const PlanSpace& space) {
  std::map<uint32_t, std::vector<uint32_t>> pus;  // with a seat, by core; first ones first
  for (const Seat& seat : space.placement.seats) pus[seat.core].push_back(seat.pu);
  std::vector<Plan> plans;
  for (bool all : {false, true}) {
    for (uint32_t of = 1; of <= kRestingOneIn; ++of) {
      TopoTree::Partition partition;
      for (const PlanGroup& group : space.start.groups) {
        std::set<uint32_t> cores;
        for (uint32_t m : group.members) cores.insert(space.placement.seats[m].core);
        std::vector<uint32_t>& own = partition.emplace_back();
        uint32_t place = 0;
        for (uint32_t core : cores) {
          if (of > 1 && place++ % of == of - 1) continue;
          const std::vector<uint32_t>& here = pus.at(core);
          own.insert(own.end(), here.begin(), all ? here.end() : here.begin() + 1);
        }
      }
      const std::optional<Plan> plan = space.plan_of(partition);
      if (plan && *plan != space.start && std::ranges::find(plans, *plan) == plans.end()) {
        plans.push_back(*plan);
      }
    }
  }
  return plans;
}

std::vector<uint32_t> max_groups_on(const ModelSpec& spec, const std::vector<uint32_t>& shares,
                                    const Plan& start) {
  const std::vector<CutAxis> axes = cut_axes(spec, shares);
  std::vector<uint32_t> most(shares.size(), kSegments);
  for (uint32_t s = 0; s < most.size(); ++s) {
    for (uint32_t layer = 0; layer < spec.layers.size(); ++layer) {
      const std::optional<AxisId> heads = spec.head_axis(layer);
      if (!heads) continue;
      while (most[s] > 1 && !all_have_some(axes[*heads].cuts, s, most[s])) --most[s];
    }
  }
  if (spec.has_latents()) {
    std::vector<uint32_t> now(most.size(), 1);
    for (const PlanGroup& group : start.groups) {
      now[group.share.shard_begin] = std::max(now[group.share.shard_begin], group.share.parts);
    }
    for (uint32_t s = 0; s < most.size(); ++s) most[s] = std::min(most[s], now[s]);
  }
  return most;
}

}  // namespace hearth
