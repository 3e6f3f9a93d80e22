// The search for the best plan of one phase (Sandwich, sections 5.2 and 5.3): all groupings of the
// tree of PUs, threads removed from each, and every cross-section of every tree as groups. The tree
// has all PUs with a seat, from packages to hyper-threads. Where cores have several PUs, a second
// tree with one PU a core is searched, too: in the first one, resting all second hyper-threads may
// gain nothing by itself, and then no further removal would be tried.
//
// The search knows the machine only by the tree, and a plan only by the cost that a function
// returns for it: by a cost model, a record, or the machine itself.
//
// It leaves out:
//   - a plan that was met before, by whatever transformations: its cost is not asked for again;
//   - further removals from a tree whose own removal gained nothing: removals take one node of like
//     children at a time, and removing more of them is a second removal;
//   - plans of a class (the same numbers of groups, threads and nodes at work) after `patience`
//     plans of it in a row that were no better than its best. (The paper's classes do not tell
//     numbers of threads apart. Here, a fourth at rest is still tried if an eighth was no better.)
// It returns one of several plans of a class whose costs are the same to one part in a thousand.
// They differ only in a guess that the tree makes, and no cost depends on that guess.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "topology/machine.h"
#include "tune/plan_space.h"

namespace hearth {

// Returns the cost of a plan, in any unit; the search looks for the lowest. Must not be negative.
using PlanCost = std::function<double(const Plan&)>;

struct PlanSearchOptions {
  uint32_t patience = 3;  // 0: no limit
  bool cuts_removals = true;
  uint32_t keep = 10;       // plans that are returned, no two of them tied
  size_t max_trees = 4000;  // trees made by groupings; further ones are left out
};

struct PlanTrial {
  Plan plan;
  double cost;
};

struct PlanSearchResult {
  std::vector<PlanTrial> best;  // from the cheapest on; never empty
  double start_cost = 0;        // of the plan that the search began with
  uint64_t grouped_trees = 0, trees = 0;
  uint64_t plans = 0;        // different plans that were met
  uint64_t evaluations = 0;  // plans whose cost was asked for
};

// Searches the plans of `space`. The first plan whose cost is asked for is the start plan.
PlanSearchResult search_plans(const Machine& machine, const PlanSpace& space, const PlanCost& cost,
                              const PlanSearchOptions& options = {});

}  // namespace hearth
