// StepCase: a kind of whole step. It is timed when all schedules of its products are known.
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
  // Whether the step computes the entry's product, with the entry's number of rows.
  bool has(const ScheduleEntry& entry) const;
  // Whether it also computes that product by another schedule than the default one.
  bool has_found(const TunedProduct& product) const {
    return !product.entry.schedule.is_default() && has(product.entry);
  }
};

// Returns the case of a decode step, or of a prompt in steps of at most `prompt_rows` rows.
StepCase step_case(Phase phase, uint32_t size, uint32_t prompt_rows);
std::vector<StepCase> step_cases(const TuneCases& cases, const EnginePlan& plan);

// Gives all products of the step `one` their default schedules again. Other steps may share some of
// these products, as steps with experts do. Those steps no longer count as timed, even if they
// belong to other cases.
void reset_step(const StepCase& one, uint32_t prompt_rows, Tuned* tuned);

}  // namespace hearth
