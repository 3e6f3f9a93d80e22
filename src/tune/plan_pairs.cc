#include "tune/plan_pairs.h"

#include <algorithm>
#include <numeric>

#include "bench/cpu_times.h"

namespace hearth {
namespace {

constexpr uint32_t kLeastPairs = 3;
// A pair during which the host took time away is measured so many times at most.
constexpr int kMostRepeats = 4;

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

PlanPairs::PlanPairs(Engine& engine, const TuneHooks& hooks, Times time)
    : engine_(engine), hooks_(hooks), time_(std::move(time)) {}

// The challenger's cost in every case.
std::vector<double> PlanPairs::pair(const EnginePlan& incumbent, const EnginePlan& challenger,
                                    bool challenger_first) {
  auto time = [&](const EnginePlan& plan) {
    engine_.set_plan(plan);
    return time_();
  };
  for (int repeat = 1;; ++repeat) {
    const uint64_t before = stolen_ticks();
    std::vector<double> one, other;
    if (challenger_first) one = time(challenger);
    other = time(incumbent);
    if (!challenger_first) one = time(challenger);
    if (stolen_ticks() != before && repeat < kMostRepeats) continue;
    for (size_t i = 0; i < one.size(); ++i) one[i] /= other[i];
    return one;
  }
}

std::optional<PlanPairs::Comparison> PlanPairs::compare(const EnginePlan& incumbent,
                                                        const EnginePlan& challenger, uint32_t most,
                                                        TuneProgress progress) {
  PairedTrials all(most);
  std::vector<PairedTrials> by_case;
  for (;;) {
    if (hooks_.stop()) return std::nullopt;
    const std::vector<double> costs = pair(incumbent, challenger, all.pairs() % 2 == 0);
    all.add(1, mean(costs));
    by_case.resize(costs.size(), PairedTrials(most));
    for (size_t i = 0; i < costs.size(); ++i) by_case[i].add(1, costs[i]);
    progress.trials = all.pairs();
    hooks_.progress(progress);
    const TimeRatio cost = all.ratio();
    const bool hopeless = cost.low > kWorth || (2 * all.pairs() >= most && cost.ratio > kWorth);
    if (all.pairs() < most && (all.pairs() < kLeastPairs || !hopeless)) continue;
    double dearest = 0;
    for (const PairedTrials& one : by_case) dearest = std::max(dearest, one.ratio().ratio);
    return Comparison{cost, dearest, all.pairs()};
  }
}

}  // namespace hearth
