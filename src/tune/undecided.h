// Candidates that trials did not decide about: they save what counts on average, and not for
// certain. More trials, or a machine that scatters less, would decide.
#pragma once

#include <cstdint>

#include "cost/paired_trials.h"

namespace hearth {

struct Undecided {
  uint32_t count = 0;
  TimeRatio cost;  // of the one that saves most on average

  // Counts in a candidate that did not win, if it is one of these.
  void add(const TimeRatio& of) {
    constexpr double kWorth = PairedTrials::kWorth;
    if (of.ratio > kWorth || of.high <= kWorth) return;
    ++count;
    if (of.ratio < cost.ratio) cost = of;
  }
};

}  // namespace hearth
