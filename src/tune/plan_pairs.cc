#include "tune/plan_pairs.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace hearth {
namespace {

constexpr uint32_t kMinPairs = 3;
// How often a pair is measured at most, if the host takes CPU time away during each try.
constexpr int kMaxRepeats = 4;

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

uint32_t pairs_within(double seconds, double pair_seconds) {
  constexpr double kPart = 0.05;
  return static_cast<uint32_t>(
      std::clamp<double>(kPart * seconds / pair_seconds, PairedTrials::kMinPairs, kMaxTrialPairs));
}

bool enough_pairs(const TimeRatio& cost, uint32_t pairs, uint32_t most) {
  constexpr double kWorth = PairedTrials::kWorth;
  if (pairs >= most) return true;
  if (pairs < kMinPairs) return false;
  if (cost.low > kWorth || (2 * pairs >= most && cost.ratio > kWorth)) return true;
  return pairs >= PairedTrials::kMinPairs && std::has_single_bit(pairs) && cost.high <= kWorth;
}

uint32_t likely_pairs(const TimeRatio& cost, uint32_t pairs, uint32_t most) {
  if (!std::isfinite(cost.high)) return std::max(kMinPairs, most / 2);
  // An interval gets narrower with the square root of the number of pairs.
  const double width = std::log(cost.high / cost.ratio) * std::sqrt(pairs);
  for (uint32_t n = pairs; n < most; ++n) {
    const double off = std::exp(width / std::sqrt(n));
    if (enough_pairs({cost.ratio, cost.ratio / off, cost.ratio * off}, n, most)) return n;
  }
  return most;
}

PlanPairs::PlanPairs(Engine& engine, const TuneHooks& hooks, Times time, double about)
    : engine_(engine), hooks_(hooks), time_(std::move(time)), longest_(2 * about) {}

// Returns the challenger's time as a part of the incumbent's, by case.
std::vector<double> PlanPairs::pair(const EngineWay& incumbent, const EngineWay& challenger,
                                    bool challenger_first) {
  auto time = [&](const EngineWay& way) {
    way.schedules ? engine_.set_plan(way.plan, *way.schedules) : engine_.set_plan(way.plan);
    return time_();
  };
  for (int repeat = 1;; ++repeat) {
    const TuneHooks::Quiet quiet = hooks_.watch_host();
    const double begun = hooks_.clock();
    std::vector<double> one, other;
    if (challenger_first) one = time(challenger);
    other = time(incumbent);
    if (!challenger_first) one = time(challenger);
    const double took = hooks_.clock() - begun;
    longest_ = std::max(longest_, took);
    const bool again = !quiet(took, engine_.threads()) && repeat < kMaxRepeats;
    if (again && !hooks_.stop(longest_)) continue;
    for (size_t i = 0; i < one.size(); ++i) one[i] /= other[i];
    return one;
  }
}

std::optional<PlanPairs::Comparison> PlanPairs::compare(const EngineWay& incumbent,
                                                        const EngineWay& challenger, uint32_t most,
                                                        TuneProgress progress) {
  most = std::min(most, hooks_.max_pairs(longest_));
  PairedTrials all(most);
  std::vector<PairedTrials> by_case;
  for (;;) {
    if (hooks_.stop(longest_)) return std::nullopt;
    const std::vector<double> costs = pair(incumbent, challenger, all.pairs() % 2 == 0);
    all.add(1, mean(costs));
    by_case.resize(costs.size(), PairedTrials(most));
    for (size_t i = 0; i < costs.size(); ++i) by_case[i].add(1, costs[i]);
    const TimeRatio cost = all.ratio();
    progress.trials = all.pairs();
    progress.about = likely_pairs(cost, all.pairs(), most);
    progress.part = (progress.done + static_cast<double>(progress.trials) / progress.about) /
                    std::max(1u, progress.all);
    hooks_.progress(progress);
    if (!enough_pairs(cost, all.pairs(), most)) continue;
    double dearest = 0;
    for (const PairedTrials& one : by_case) dearest = std::max(dearest, one.ratio().ratio);
    return Comparison{cost, dearest, all.pairs()};
  }
}

}  // namespace hearth
