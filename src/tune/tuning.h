// A whole tuning of one model on this machine. What nodes and cores read is taken from the store,
// or measured (cost/bandwidth.h); then the plans of both phases are ranked and tried
// (tune/plan_tuner.h), the rows up to which a step is decode's (tune/threshold_tuner.h), and the
// schedules of products under what won (tune/schedule_tuner.h). What is found is kept in the store,
// where every engine that is started looks for it (engine/tuned_plan.h).
//
// Whoever stops it, and whose time is over, keeps what was measured: the next call goes on there.
//
// Of an encoder, texts take the place of prompts and of decode (tune/tune_cases.h). A budget is
// kept to within a tenth, if loading the model and one trial of each kind fit in it.
//
// Errors: threads that share CPUs (kUsage); somebody else tunes (kBusy);
// those of the store, of measuring and of the engine.
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
  double seconds = 600;               // to take at most
  uint32_t most_cores = 0;            // at work at a time; 0: default_thread_count()
  // Plans of a phase that are held against each other with kernels of their own, the default among
  // them, where both are tuned; 1: kernels are tuned for the plan that is best with those by hand.
  uint32_t candidates = 4;
  std::optional<BandwidthTable> table;  // ranks plans, in place of the store's
  bool fresh = false;                   // forgets what was measured before
};

// The callbacks of tuning: it asks whether to stop, and reports its progress.
struct TuningWatch {
  std::function<bool()> interrupted = [] { return false; };
  std::function<void(const TuneProgress&)> progress = [](const TuneProgress&) {};
  // Rates of bandwidth (BandwidthOptions::report).
  std::function<void(uint32_t done, uint32_t total)> measured = [](uint32_t, uint32_t) {};
};

// The candidates that trials did not decide about, and what others had of the machine meanwhile,
// where there were any trials.
struct TuneDoubt {
  Undecided open;
  std::optional<CpuShares> cpus;
};

// The outcome for a phase's plan.
struct TuneOutcome {
  Plan start, chosen;
  TunedPhase result;
  std::optional<TunedThreshold> threshold;  // of decode, where it was measured
  TuneDoubt doubt;
  // Counts of the search among predicted costs.
  uint64_t trees = 0, plans = 0, evaluations = 0;
};

struct TuningResult {
  std::vector<TuneOutcome> outcomes;  // decode's and prefill's, where plans were tuned
  Tuned tuned;
  TuneDoubt kernels;  // where they were tuned
  std::string path;   // that it is kept in
  // The parts for which the time was too short; another call goes on with them: "plans of decode".
  std::vector<std::string> left;
};

TuningResult tune_model(const OpenedModel& model, const Machine& machine, Isa isa,
                        const TunedStore& store, const TuningOptions& options,
                        const TuningWatch& watch = {}, const Listener& listener = {});

// Tunes by the cost model alone, for any machine, prefill first; nothing is measured or kept.
std::vector<TuneOutcome> predict_tuning(const ModelSpec& spec, const Machine& machine,
                                        const BandwidthTable& table, const TuneCases& cases,
                                        uint32_t most_cores);

}  // namespace hearth
