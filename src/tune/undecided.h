// Candidates about which trials did not decide. Their average saves enough for them to be taken,
// but the confidence interval also contains values that save too little. More trials, or a machine
// that scatters less, would decide.
#pragma once

#include <cstdint>

#include "cost/paired_trials.h"

namespace hearth {

struct Undecided {
  uint32_t count = 0;
  TimeRatio cost;  // of the candidate that saves most on average

  // Counts a candidate that did not win, but only if trials did not decide about it.
  void add(const TimeRatio& of) {
    constexpr double kWorth = PairedTrials::kWorth;
    if (of.ratio > kWorth || of.high <= kWorth) return;
    ++count;
    if (of.ratio < cost.ratio) cost = of;
  }
  // Adds the candidates that were counted in an earlier round.
  void add_all(const Undecided& earlier) {
    count += earlier.count;
    if (earlier.cost.ratio < cost.ratio) cost = earlier.cost;
  }
};

}  // namespace hearth
