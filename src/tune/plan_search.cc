#include "tune/plan_search.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <unordered_set>
#include <utility>

namespace hearth {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::infinity();
// Removing threads counts as a gain if it saves this part of the cost or more. Smaller differences
// come from summing in another order.
constexpr double kCutGain = 1e-9;
constexpr double kTie = 1e-3;

class Search {
 public:
  Search(const PlanSpace& space, const PlanCost& cost, const PlanSearchOptions& options)
      : space_(space), ask_(cost), options_(options) {}

  PlanSearchResult run(const std::vector<TopoTree>& trees) {
    result_.start_cost = cost_of(space_.start);
    std::vector<TopoTree> grouped;
    for (const TopoTree& tree : trees) {
      const std::vector<TopoTree> of = grouped_trees(tree, options_.max_trees);
      grouped.insert(grouped.end(), of.begin(), of.end());
    }
    result_.grouped_trees = grouped.size();
    std::vector<double> costs;
    for (const TopoTree& one : grouped) {
      seen_.insert(one.hash());
      costs.push_back(best_of(one));
    }
    for (size_t i = 0; i < grouped.size(); ++i) remove(grouped[i], costs[i]);
    result_.trees = seen_.size();
    result_.plans = costs_.size() + given_up_.size();
    std::stable_sort(result_.best.begin(), result_.best.end(),
                     [](const PlanTrial& a, const PlanTrial& b) { return a.cost < b.cost; });
    merge_ties();
    return std::move(result_);
  }

 private:
  // The groups of a plan as a set. Plans that differ only in the order of groups count as one plan,
  // since the order only decides which group gets which part.
  using Key = std::set<std::pair<uint32_t, std::vector<uint32_t>>>;
  struct Patience {
    double best = kUnknown;
    uint32_t failures = 0;
  };
  using Class = std::tuple<uint32_t, uint32_t, uint32_t>;  // groups, nodes, threads

  static Key key_of(const Plan& plan) {
    Key key;
    for (const PlanGroup& group : plan.groups) key.emplace(group.share.shard_begin, group.members);
    return key;
  }

  Class class_of(const Plan& plan) const {
    std::set<uint32_t> nodes;
    for (uint32_t m : plan.working_members()) nodes.insert(space_.placement.seats[m].node);
    return {plan.group_count(), static_cast<uint32_t>(nodes.size()), plan.worker_count()};
  }

  // Returns the plan's cost; kUnknown where too many plans of its class in a row did not improve on
  // the best.
  double cost_of(const Plan& plan) {
    Key key = key_of(plan);
    if (auto known = costs_.find(key); known != costs_.end()) return known->second;
    Patience& patience = patience_[class_of(plan)];
    if (options_.patience > 0 && patience.failures >= options_.patience) {
      given_up_.insert(std::move(key));
      return kUnknown;
    }
    const double cost = ask_(plan);
    ++result_.evaluations;
    costs_.emplace(std::move(key), cost);
    if (cost < patience.best) {
      patience = {cost, 0};
    } else {
      ++patience.failures;
    }
    result_.best.push_back({plan, cost});
    return cost;
  }

  // Keeps the cheapest plans. Of plans of one class with equal costs, keeps one.
  void merge_ties() {
    std::map<Class, double> last;  // cost of the last one that was kept
    std::vector<PlanTrial> kept;
    for (PlanTrial& trial : result_.best) {
      if (kept.size() == options_.keep) break;
      auto [same, first] = last.try_emplace(class_of(trial.plan), trial.cost);
      if (!first && trial.cost <= same->second * (1 + kTie)) continue;
      same->second = trial.cost;
      kept.push_back(std::move(trial));
    }
    result_.best = std::move(kept);
  }

  double best_of(const TopoTree& tree) {
    double best = kUnknown;
    for (const TopoTree::Partition& cut : tree.cuts(space_.max_groups_of_all())) {
      std::optional<Plan> plan = space_.plan_of(cut);
      if (plan) best = std::min(best, cost_of(*plan));
    }
    return best;
  }

  // Makes a new tree for each site, by removing one of its like children. If the new tree is
  // better, tries further removals from it.
  void remove(const TopoTree& tree, double cost) {
    for (const TopoTree::Site& site : tree.sites()) {
      std::optional<TopoTree> fewer = tree.remove(site, 1);
      if (!fewer || !seen_.insert(fewer->hash()).second) continue;
      const double best = best_of(*fewer);
      if (options_.cuts_removals && !(best < cost * (1 - kCutGain))) continue;
      remove(*fewer, best);
    }
  }

  const PlanSpace& space_;
  const PlanCost& ask_;
  PlanSearchOptions options_;
  PlanSearchResult result_;
  std::unordered_set<uint64_t> seen_;  // hashes of trees
  std::map<Key, double> costs_;
  std::set<Key> given_up_;
  std::map<Class, Patience> patience_;
};

}  // namespace

PlanSearchResult search_plans(const Machine& machine, const PlanSpace& space, const PlanCost& cost,
                              const PlanSearchOptions& options) {
  Placement ones;  // the first seat of every core
  std::set<uint32_t> cores;
  for (const Seat& seat : space.placement.seats) {
    if (cores.insert(seat.core).second) ones.seats.push_back(seat);
  }
  std::vector<TopoTree> trees{TopoTree(machine, ones)};
  if (ones.seats.size() < space.placement.seats.size()) {
    trees.emplace_back(machine, space.placement);
  }
  return Search(space, cost, options).run(trees);
}

}  // namespace hearth
