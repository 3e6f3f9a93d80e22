// StepCase: a step that tuning of schedules times whole, under all that was found for its products.
#pragma once

#include <cstdint>
#include <vector>

#include "cost/tuned_file.h"
#include "engine/engine_plan.h"
#include "tune/tune_cases.h"

namespace hearth {

struct StepCase {
  Phase phase;
  uint32_t size;  // sequences of decode, or tokens of a prompt
  uint32_t rows;

  bool is_of(const TunedStep& step) const { return step.phase == phase && step.size == size; }
  // Whether it has products with so many rows.
  bool has(const ScheduleEntry& entry) const;
};

// Returns the case of a step of decode, or of a prompt in steps of `prompt_rows` rows at most.
StepCase step_case(Phase phase, uint32_t size, uint32_t prompt_rows);
std::vector<StepCase> step_cases(const TuneCases& cases, const EnginePlan& plan);

// Computes all products of `one` as set by hand again. Other steps that have some of these, too, as
// steps have experts, are no longer timed, whatever cases they were timed for; returns whether any
// was.
bool reset_step(const StepCase& one, uint32_t prompt_rows, Tuned* tuned);

}  // namespace hearth
