// A whole tuning of one model on this machine. The rates at which nodes and cores read are taken
// from the store, or measured (cost/bandwidth.h). Then it ranks and tries the plans of both phases
// (tune/plan_tuner.h), and the rows up to which a step uses the decode plan
// (tune/threshold_tuner.h). At last it tunes the schedules of products under the plans that won
// (tune/schedule_tuner.h). The results are kept in the store, where every engine looks for them at
// its start (engine/tuned_plan.h).
//
// Measurements are kept if a tuning is stopped or its time is over: the next call goes on there.
//
// For an encoder, texts take the place of prompts and of decode (tune/tune_cases.h). A budget is
// kept to within a tenth, if loading the model and one trial of each kind fit in it.
//
// Errors: threads that share CPUs (kUsage); another process tunes (kBusy); those of the store, of
// measuring and of the engine.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/listener.h"
#include "bench/cpu_times.h"
#include "cost/bandwidth.h"
#include "cost/tuned_store.h"
#include "engine/open_model.h"
#include "tune/tune_cases.h"
#include "tune/tune_hooks.h"
#include "tune/undecided.h"

namespace hearth {

struct TuningOptions {
  TuneCases cases;
  bool plans = true, kernels = true;  // what is tuned
  double seconds = 600;               // the longest that it may take
  uint32_t max_cores = 0;             // working at a time; 0: default_thread_count()
  // The plans of a phase, the default among them, that are compared with kernels of their own,
  // where both are tuned. 1: kernels are tuned only for the plan that is best with the default
  // kernels.
  uint32_t candidates = 4;
  std::optional<BandwidthTable> table;  // the table to rank plans by, in place of the store's
  bool fresh = false;                   // forget earlier measurements
};

// The callbacks of tuning: it asks whether to stop, and reports its progress.
struct TuningWatch {
  std::function<bool()> interrupted = [] { return false; };
  std::function<void(const TuneProgress&)> progress = [](const TuneProgress&) {};
  // Called after every rate that was measured (BandwidthOptions::report).
  std::function<void(uint32_t done, uint32_t total)> measured = [](uint32_t, uint32_t) {};
};

// The candidates that trials did not decide about. If there were trials: the CPU time that the host
// and other processes took meanwhile, as shares of all.
struct TuneDoubt {
  Undecided open;
  std::optional<CpuShares> cpus;
};

struct TuneOutcome {
  Plan start, chosen;
  TunedPhase result;
  std::optional<TunedThreshold> threshold;  // of decode only, if it was measured
  TuneDoubt doubt;
  // Counts of the search among predicted costs.
  uint64_t trees = 0, plans = 0, evaluations = 0;
};

struct TuningResult {
  std::vector<TuneOutcome> outcomes;  // decode's and prefill's, where plans were tuned
  Tuned tuned;
  TuneDoubt kernels;  // if kernels were tuned
  std::string path;   // the file that keeps it
  // The parts for which the time was too short, such as "plans of decode". Another call goes on
  // with them.
  std::vector<std::string> left;
};

TuningResult tune_model(const OpenedModel& model, const Machine& machine, Isa isa,
                        const TunedStore& store, const TuningOptions& options,
                        const TuningWatch& watch = {}, const Listener& listener = {});

// Tunes by the cost model alone, for any machine. Nothing is measured or kept. Prefill comes first.
std::vector<TuneOutcome> predict_tuning(const ModelSpec& spec, const Machine& machine,
                                        const BandwidthTable& table, const TuneCases& cases,
                                        uint32_t max_cores);

}  // namespace hearth
