#include "tune/joint_search.h"

#include <algorithm>

namespace hearth {
namespace {

// The most pairs of whole steps in a comparison: after the fast start, and at the end of the
// search.
constexpr uint32_t kLookPairs = 8, kDecidingPairs = 20;
// A plan is left out if it costs more than so many times the best plan. Both costs are those with
// default kernels.
constexpr double kTooSlow = 1.15;

// Returns the best two candidates, judged after their kernels' fast start; all candidates if there
// are no more than two. If the first plan is one of the two, it comes first.
std::optional<std::vector<Plan>> finalists(const std::vector<Plan>& candidates,
                                           const JointWork& work) {
  if (candidates.size() <= 2) return candidates;
  for (const Plan& plan : candidates) {
    if (!work.look(plan)) return std::nullopt;
  }
  std::vector<PlanTrial> looks{{candidates[0], 1}};
  for (size_t i = 1; i < candidates.size(); ++i) {
    const std::optional<TimeRatio> cost = work.compare(candidates[i], candidates[0], kLookPairs);
    if (!cost) return std::nullopt;
    looks.push_back({candidates[i], cost->ratio});
  }
  std::ranges::stable_sort(looks, {}, &PlanTrial::cost);
  std::vector<Plan> best{looks[0].plan, looks[1].plan};
  if (best[1] == candidates[0]) std::swap(best[0], best[1]);
  return best;
}

}  // namespace

std::vector<Plan> joint_candidates(const Plan& first, std::vector<PlanTrial> measured,
                                   uint32_t most) {
  std::ranges::stable_sort(measured, {}, &PlanTrial::cost);
  const double best = measured.empty() ? 1 : std::min(1.0, measured[0].cost);
  std::vector<Plan> candidates{first};
  for (const PlanTrial& trial : measured) {
    if (candidates.size() >= most || trial.cost > kTooSlow * best) break;
    candidates.push_back(trial.plan);
  }
  return candidates;
}

std::optional<JointResult> search_jointly(const std::vector<Plan>& candidates,
                                          const JointWork& work) {
  const Plan& first = candidates[0];
  const std::optional<std::vector<Plan>> last = finalists(candidates, work);
  if (!last) return std::nullopt;
  for (const Plan& plan : *last) {
    if (!work.search(plan)) return std::nullopt;
  }
  const Plan* best = &last->back();
  if (last->size() > 1 && last->front() != first) {
    const std::optional<TimeRatio> cost = work.compare(last->back(), last->front(), kDecidingPairs);
    if (!cost) return std::nullopt;
    if (cost->ratio >= 1) best = &last->front();
  }
  if (*best == first) return JointResult{first, {}};
  const std::optional<TimeRatio> cost = work.compare(*best, first, kDecidingPairs);
  if (!cost) return std::nullopt;
  if (cost->high > PairedTrials::kWorth) return JointResult{first, {}};
  return JointResult{*best, *cost};
}

}  // namespace hearth
