// ThresholdTuner: finds the best threshold for a loaded model on this machine, given the plans of
// both phases. The threshold is the number of rows up to which a step uses the decode plan
// (EnginePlan.decode.max_rows); larger steps use prefill's.
//
// Every candidate is measured in turns with the plan's own threshold (tune/plan_pairs.h), over two
// kinds of cases that count alike. The first are steps whose plan changes with the threshold:
// prompts of so many tokens. The second is decode of the cases' numbers of sequences, since a graph
// for steps of more rows cuts its tasks otherwise (graph/ops/gemm_tasks.h). A candidate takes the
// default's place where 95 % confidence says that it saves one part in a hundred of the mean, and
// no case got slower by as much.
//
// Every measurement is added to `Tuned`, and `save` is called candidate by candidate, as in
// PlanTuner. When tune() returns or throws, the engine has the plan that it had before.
#pragma once

#include <cstdint>
#include <vector>

#include "cost/tuned_file.h"
#include "tune/step_timer.h"
#include "tune/tune_hooks.h"

namespace hearth {

// Returns the thresholds to compare with the plan's own. They are powers of two from 4 on, at most
// `most` and at most the rows of a prefill step.
std::vector<uint32_t> threshold_candidates(const EnginePlan& plan, uint32_t most = kMaxThreshold);
// Returns numbers of rows to be timed, ascending: steps of so many rows use another plan with the
// threshold `other` than with `one`.
std::vector<uint32_t> rows_between(uint32_t one, uint32_t other);

class ThresholdTuner {
 public:
  // The engine must have been made with engine_options() of the cases, and `timer` with both.
  ThresholdTuner(Engine& engine, TuneCases cases, StepTimer& timer, TuneHooks hooks);

  // Measures those candidates that have no trials under these plans in `tuned`, by at most `most`
  // pairs each. Adds their trials and the best threshold to `tuned`. Returns false where it was
  // stopped before that; `tuned` then has no threshold.
  bool tune(const EnginePlan& plan, uint32_t most, Tuned* tuned);

 private:
  std::vector<double> time_cases(const std::vector<uint32_t>& rows);
  double about(const std::vector<uint32_t>& rows) const;

  Engine& engine_;
  TuneCases cases_;
  TuneHooks hooks_;
  StepTimer& timer_;
};

}  // namespace hearth
