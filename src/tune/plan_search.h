// The search for the best plan of one phase (Sandwich, sections 5.2 and 5.3). It tries all
// groupings of the tree of PUs, removes threads from each of these trees, and takes every
// cross-section of every tree as the groups of a plan. The tree has all PUs with a seat, from
// packages to hyper-threads. Where cores have several PUs, it also searches a second tree, which
// has one PU a core. In the first tree, resting all second hyper-threads may gain nothing by
// itself, and then no further removal would be tried.
//
// The search knows the machine only by the tree, and knows a plan only by the cost that a function
// returns for it: from a cost model, from a record, or from the machine itself.
//
// It leaves out:
//   - a plan that it met before on another way: it does not ask for its cost again;
//   - removals from a tree that is itself a removal without a gain. One removal takes one of
//     several like children at each node, so removing more of them is a second removal;
//   - plans of a class (equal numbers of groups, threads and nodes at work) after `patience` plans
//     of the class in a row that were no better than its best. (The paper's classes do not tell
//     numbers of threads apart. Here, resting a fourth of the threads is still tried if resting an
//     eighth was no better.)
// If several plans of a class have the same cost to one part in a thousand, it returns one of them.
// They differ only in what the tree guesses, and no cost depends on that guess.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "topology/machine.h"
#include "tune/plan_space.h"

namespace hearth {

// Returns the cost of a plan, in any unit, which must not be negative. The search looks for the
// lowest cost.
using PlanCost = std::function<double(const Plan&)>;

struct PlanSearchOptions {
  uint32_t patience = 3;  // 0: no limit
  bool cuts_removals = true;
  uint32_t keep = 10;       // how many plans are returned, no two of them tied
  size_t max_trees = 4000;  // trees made by groupings; further ones are left out
};

struct PlanTrial {
  Plan plan;
  double cost;
};

struct PlanSearchResult {
  std::vector<PlanTrial> best;  // from the cheapest on; never empty
  double start_cost = 0;        // of the plan with which the search began
  uint64_t grouped_trees = 0, trees = 0;
  uint64_t plans = 0;        // different plans that were met
  uint64_t evaluations = 0;  // plans whose cost was asked for
};

// Searches the plans of `space`. The first plan whose cost is asked for is the start plan.
PlanSearchResult search_plans(const Machine& machine, const PlanSpace& space, const PlanCost& cost,
                              const PlanSearchOptions& options = {});

}  // namespace hearth
