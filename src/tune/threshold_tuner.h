// ThresholdTuner: finds the number of rows up to which a step works by the decode plan
// (EnginePlan.decode.max_rows), larger ones by prefill's, that is fastest for a loaded model on
// this machine, given the plans of both phases.
//
// Every candidate is measured against the number that the plan comes with, in turns
// (tune/plan_pairs.h), over two kinds of cases that count alike: steps whose plan changes with it,
// which are prompts of so many tokens, and decode of the cases' numbers of sequences, since a graph
// for steps of more rows cuts its tasks otherwise (graph/ops/gemm_tasks.h). It takes the default's
// place where 95 % confidence says that it saves one part in a hundred of the mean, and no case got
// slower by as much.
//
// Everything measured is in `Tuned` and given to `save` candidate by candidate, as in PlanTuner.
// The engine has the plan that it came with when tune() returns, or throws.
#pragma once

#include <cstdint>
#include <vector>

#include "cost/tuned_file.h"
#include "tune/step_timer.h"
#include "tune/tune_hooks.h"

namespace hearth {

// The thresholds that are tried against the plan's own: of powers of two from 4 on up to `most`,
// those that steps of its prefill reach.
std::vector<uint32_t> threshold_candidates(const EnginePlan& plan, uint32_t most = kMostThreshold);
// Rows of steps that run under another plan when the threshold changes from the one to the other;
// the largest comes last.
std::vector<uint32_t> rows_between(uint32_t one, uint32_t other);

class ThresholdTuner {
 public:
  // The engine was made with engine_options() of the cases, and `timer` is of both.
  ThresholdTuner(Engine& engine, TuneCases cases, StepTimer& timer, TuneHooks hooks);

  // Measures the candidates that `tuned` has no trials of under these plans, at most `most` pairs
  // each, and adds their trials and the threshold that is best. Returns false, and `tuned` has no
  // threshold, where somebody stopped it before that was all.
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
