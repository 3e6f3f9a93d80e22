// Decides for which whole steps the schedules of their products stay. Each step is timed twice, by
// pairs of trials with the schedules that were found and with the default ones. The second time
// comes when all else is tuned, and as late after the first as it can. A gain must show both times,
// since other guests and programs may change for minutes what memory delivers, and with it which
// schedule is faster.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tune/step_cases.h"

namespace hearth {

struct StepComparison {
  TimeRatio cost;  // with the schedules found, as a part of the time by default schedules
  uint32_t pairs = 0;
};

// Times the step with the schedules found and with default ones, in pairs. Returns none if the
// search must stop.
using CompareStep = std::function<std::optional<StepComparison>(const StepCase&)>;

// Compares the steps of `all` that were not timed yet. With `confirm`, then compares those again
// that were timed once. If a step gets no faster, its products lose their schedules (reset_step());
// then other steps that were timed with these schedules are timed anew. A step whose products all
// have default schedules needs no comparison. Of two comparisons, the one with the smaller gain is
// kept. Calls `save` after each step. Returns false where the search was stopped; `tuned` then has
// the results up to there. Prompts are computed in steps of at most `prompt_rows` rows.
bool search_steps(const std::vector<StepCase>& all, bool confirm, uint32_t prompt_rows,
                  const CompareStep& compare, const std::function<void()>& save, Tuned* tuned);

}  // namespace hearth
