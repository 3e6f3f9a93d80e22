#include "cost/paired_trials.h"

#include <bit>
#include <cmath>
#include <iterator>
#include <limits>

#include "base/check.h"

namespace hearth {
namespace {

// Quantiles of Student's distribution, by degrees of freedom from 1 on: 98.75 % of the distribution
// lie below.
constexpr double kQuantiles[] = {25.452, 6.205, 4.177, 3.495, 3.163, 2.969, 2.841, 2.752,
                                 2.685,  2.634, 2.593, 2.560, 2.533, 2.510, 2.490, 2.473,
                                 2.458,  2.445, 2.433, 2.423, 2.414, 2.405, 2.398, 2.391,
                                 2.385,  2.379, 2.373, 2.368, 2.364, 2.360};

double quantile(uint32_t freedom) {
  // The quantile falls towards 2.241 for more degrees than the table has. This formula is within
  // 0.1 % of it.
  return freedom <= std::size(kQuantiles) ? kQuantiles[freedom - 1] : 2.241 + 3.57 / freedom;
}

}  // namespace

void PairedTrials::add(double incumbent, double challenger) {
  HEARTH_CHECK(incumbent > 0 && challenger > 0, "a trial takes time");
  const double evidence = std::log(challenger / incumbent);
  ++pairs_;
  const double off = evidence - mean_;
  mean_ += off / pairs_;
  squares_ += off * (evidence - mean_);
}

TimeRatio PairedTrials::ratio() const {
  if (pairs_ < 2) return {std::exp(mean_), 0, std::numeric_limits<double>::infinity()};
  const double error = std::sqrt(squares_ / (pairs_ - 1) / pairs_) * quantile(pairs_ - 1);
  return {std::exp(mean_), std::exp(mean_ - error), std::exp(mean_ + error)};
}

PairedTrials::Verdict PairedTrials::verdict() const {
  const bool last = pairs_ >= max_pairs_;
  if (!last && (pairs_ < kMinPairs || !std::has_single_bit(pairs_))) return Verdict::kOpen;
  const TimeRatio now = ratio();
  if (now.high <= kWorth) return Verdict::kFalls;
  return last || now.low > kWorth ? Verdict::kStays : Verdict::kOpen;
}

PairedTrials::Verdict PairedTrials::run(const Trial& incumbent, const Trial& challenger,
                                        const std::function<bool()>& stop) {
  uint32_t repeats = 0;
  auto once = [&](const Trial& trial) {
    std::optional<double> seconds = trial();
    while (!seconds && repeats++ < kMaxRepeats) seconds = trial();
    return seconds;
  };
  while (verdict() == Verdict::kOpen && !stop()) {
    const bool ours_first = pairs_ % 2 == 0;
    std::optional<double> first = once(ours_first ? incumbent : challenger);
    std::optional<double> second = once(ours_first ? challenger : incumbent);
    if (!first || !second) return Verdict::kStays;
    add(ours_first ? *first : *second, ours_first ? *second : *first);
  }
  return verdict();
}

}  // namespace hearth
