// The search for the best plan of one phase (Sandwich, sections 5.2 and 5.3): all groupings of the
// tree of PUs, threads removed from each, and every cross-section of every tree as groups. The tree
// is of all PUs that have a seat, from packages to hyper-threads, and where cores have several of
// these of one PU a core, too: resting all second ones need not gain for what else may rest. It
// sees nothing of the machine but the tree, and of plans nothing but what a function says that they
// cost: a cost model, a record, or the machine itself.
//
// What it leaves out:
//   - a plan met before, by whatever transformations: it is not asked for again;
//   - what follows a removal that gained nothing over the tree that it was made of: removals take
//     one node of like children at a time, and removing more is a removal of a removal;
//   - plans with as many groups, threads and nodes at work as `patience` on end that were no better
//     than the best of them. (The paper counts threads together. With them apart a fourth of the
//     threads at rest is not given up since an eighth was no better.)
// Of plans that cost the same to one part in a thousand and have as many groups, threads and nodes,
// one is given back: they differ in a guess of the tree alone, which the costs know nothing of.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "topology/machine.h"
#include "tune/plan_space.h"

namespace hearth {

// Returns the cost of a plan, in whatever is to be little. Must not be negative.
using PlanCost = std::function<double(const Plan&)>;

struct PlanSearchOptions {
  uint32_t patience = 3;  // 0: without end
  bool cuts_removals = true;
  uint32_t keep = 10;        // plans that are given back, no two of them tied
  size_t most_trees = 4000;  // that groupings make; others are not looked at
};

struct PlanTrial {
  Plan plan;
  double cost;
};

struct PlanSearchResult {
  std::vector<PlanTrial> best;  // from the cheapest on; never empty
  double start_cost = 0;        // of the plan that the search began with
  uint64_t grouped_trees = 0, trees = 0;
  uint64_t plans = 0;        // different ones that were met
  uint64_t evaluations = 0;  // of them whose cost was asked for
};

// `cost` is asked for the start plan first.
PlanSearchResult search_plans(const Machine& machine, const PlanSpace& space, const PlanCost& cost,
                              const PlanSearchOptions& options = {});

}  // namespace hearth
