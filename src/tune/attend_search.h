// The search for the best attention schedule (AttendSchedule) in decode's steps. Each candidate is
// one change, in one value. The candidates are compared one after the other with the best schedule
// so far. A candidate that gains enough is part of the best schedule from then on.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "cost/tuned_file.h"
#include "tune/plan_pairs.h"

namespace hearth {

// Returns the candidates for a processor that prefetches from `places` places by default, and for
// sequences of `depth` positions. Each sets one value to something else than the default. Some
// candidates set the number of tasks, if a sequence has several spans, which tasks can share.
std::vector<AttendSchedule> attend_candidates(uint32_t places, uint32_t depth);
// Returns those of `candidates` that still must be compared for this model, given the results
// `known`.
std::vector<AttendSchedule> untried(const std::vector<AttendSchedule>& candidates,
                                    const std::optional<TunedAttend>& known);

// Returns the time of steps by the challenger as a part of their time by the incumbent; none if the
// search must stop.
using CompareAttention = std::function<std::optional<PlanPairs::Comparison>(
    const AttendSchedule& incumbent, const AttendSchedule& challenger)>;

// Adds the results to `known`, and calls `save` after each candidate. A candidate is taken where it
// saves 1 % at 95 % confidence and makes no case slower by 1 %. Returns false where the search was
// stopped; `known` then has the results up to there.
bool search_attention(const std::vector<AttendSchedule>& candidates,
                      const CompareAttention& compare, const std::function<void()>& save,
                      std::optional<TunedAttend>* known);

// Compares each value that was taken a second time, with the schedule that has only the confirmed
// values. A value stays if it makes steps no slower on average, and no case slower by more than 1
// %. Of both costs, the one with the smaller gain is kept. Returns false where it was stopped.
bool confirm_attention(const CompareAttention& compare, const std::function<void()>& save,
                       std::optional<TunedAttend>* known);

}  // namespace hearth
