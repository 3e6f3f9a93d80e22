// The search for the best attention schedule (AttendSchedule) in decode's steps. Each candidate
// differs from the best schedule so far in one value. The candidates are compared with it one after
// the other. A candidate that gains becomes the best before the next one is compared.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "cost/tuned_file.h"
#include "tune/plan_pairs.h"

namespace hearth {

// Returns the candidates for a processor that prefetches from `places` places by default and for
// sequences of `depth` positions. Each has one value that is not the default. Numbers of tasks are
// among them only where a sequence has several spans, which can be dealt out.
std::vector<AttendSchedule> attend_candidates(uint32_t places, uint32_t depth);
// Returns those of `candidates` that were not tried for this model yet.
std::vector<AttendSchedule> untried(const std::vector<AttendSchedule>& candidates,
                                    const std::optional<TunedAttend>& known);

// Returns the time of steps by the challenger as a part of their time by the incumbent. Returns
// none where the comparison was stopped.
using CompareAttention = std::function<std::optional<PlanPairs::Comparison>(
    const AttendSchedule& incumbent, const AttendSchedule& challenger)>;

// Adds the results to `known`, and calls `save` after each candidate. A candidate is taken where it
// saves 1 % at 95 % confidence and makes no case slower by 1 %. Returns false where the search was
// stopped; `known` keeps the results from before that.
bool search_attention(const std::vector<AttendSchedule>& candidates,
                      const CompareAttention& compare, const std::function<void()>& save,
                      std::optional<TunedAttend>* known);

}  // namespace hearth
