// How attention over pages is computed best in decode's steps: schedules that differ from what is
// known in one thing are held against it, one after the other, and each that gains is taken before
// the next.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "cost/tuned_file.h"
#include "tune/plan_pairs.h"

namespace hearth {

// Returns the candidates where a processor prefetches from `places` and sequences are `depth`
// positions long; each has one value that is not the default. Spans can be dealt where there are
// several.
std::vector<AttendSchedule> attend_candidates(uint32_t places, uint32_t depth);
// Returns the candidates that were not tried for this model yet.
std::vector<AttendSchedule> untried(const std::vector<AttendSchedule>& candidates,
                                    const std::optional<TunedAttend>& known);

// Returns the steps' cost by the second as a part of that by the first; none: somebody stopped it.
using CompareAttention = std::function<std::optional<PlanPairs::Comparison>(
    const AttendSchedule& incumbent, const AttendSchedule& challenger)>;

// Adds what is found to `known`, and calls `save` after each candidate. One is taken where it
// saves 1 % for certain and slows no case by as much. Returns false where it was stopped: what was
// found before that stays.
bool search_attention(const std::vector<AttendSchedule>& candidates,
                      const CompareAttention& compare, const std::function<void()>& save,
                      std::optional<TunedAttend>* known);

}  // namespace hearth
