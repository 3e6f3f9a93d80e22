// Measurements and what they mean: rates, and shares of the limits that were measured beside them.
#pragma once

#include <optional>
#include <vector>

#include "base/spread.h"
#include "bench/team_limits.h"
#include "bench/work.h"
#include "graph/profile_rates.h"

namespace hearth {

struct Repetition {
  double seconds = 0;
  LimitSample beside;  // the mean of the samples taken just before and after
};

struct CaseResult {
  BenchCase what;
  CaseWork work;
  std::vector<Repetition> repetitions;  // fewer than asked for where somebody interrupted
  // A profile of each phase's graph that ran in the repetitions, where asked for.
  std::vector<ProfileSummary> profiles;
};

// Shares are parts of 1: medians of the rates over the best sample of the limit.
struct Figures {
  Spread tokens_per_second;
  double seconds = 0;            // of one repetition, median; of prefill: until the first token
  double ops_per_second = 0;     // matrix products and attention
  double peak_share = 0;         // of the peak of the model's unit
  double mixed_peak_share = 0;   // of the time at the peak of each operation's own unit
  double peak_share_beside = 0;  // peak_share over the limits beside each repetition, median

  struct Reading {
    double bytes_per_second = 0;  // of weights
    double share = 0;             // of the read limit
    double share_with_kv = 0;     // the same with keys and values counted
    double share_beside = 0;      // share over the limits beside each repetition, median
  };
  std::optional<Reading> reading;  // of decode
};

// `result` has at least one repetition.
Figures figures_of(const CaseResult& result, ArithmeticUnit unit, const LimitSample& best);

}  // namespace hearth
