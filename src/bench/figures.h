// The measurements of a case and the figures made of them: rates, and shares of the limits that
// were measured beside them.
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
  std::vector<Repetition> repetitions;  // fewer than asked for where the user interrupted
  // One profile for each phase whose graph ran in the repetitions. Empty where profiling is off.
  std::vector<ProfileSummary> profiles;
};

// Shares are parts of 1: the median of the rates over the best sample of the limit.
struct Figures {
  Spread tokens_per_second;
  double seconds = 0;            // median of one repetition; of prefill: until the first token
  double ops_per_second = 0;     // of matrix products and attention
  double peak_share = 0;         // share of the peak of the model's arithmetic unit
  double mixed_peak_share = 0;   // share with each operation held against its own unit's peak
  double peak_share_beside = 0;  // median of peak_share over the limits beside each repetition

  struct Reading {
    double bytes_per_second = 0;  // bytes of weights read a second
    double share = 0;             // share of the read limit
    double share_with_kv = 0;     // the same with keys and values counted
    double share_beside = 0;      // median of `share` over the limits beside each repetition
  };
  std::optional<Reading> reading;  // decode only
};

// `result` has at least one repetition.
Figures figures_of(const CaseResult& result, ArithmeticUnit unit, const LimitSample& best);

}  // namespace hearth
