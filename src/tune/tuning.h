// A whole tuning of one model on this machine. First come the rates at which nodes and cores read,
// which are taken from the store or measured (cost/bandwidth.h). Then it ranks and tries the plans
// of both phases (tune/plan_tuner.h), and finds up to how many rows a step uses the decode plan
// (tune/threshold_tuner.h). At last it tunes the schedules of products under the plans that won
// (tune/schedule_tuner.h). The results are kept in the store, where every engine looks for them at
// its start (engine/tuned_plan.h).
//
// Measurements are kept if a tuning is stopped or its time is over. The next call goes on from
// there.
//
// For an encoder, texts take the place of prompts and of decode (tune/tune_cases.h). The time is
// kept to within a tenth, if loading the model and one trial of each kind fit into it.
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
  uint32_t max_cores = 0;             // the most at work at a time; 0: default_thread_count()
  // If both plans and kernels are tuned: how many plans of a phase, the default among them, are
  // compared with kernels of their own. 1: kernels are tuned only for the plan that is best with
  // default kernels.
  uint32_t candidates = 4;
  std::optional<BandwidthTable> table;  // ranks the plans, in place of the store's table
  bool fresh = false;                   // forget earlier measurements
};

// The callbacks of tuning: it asks whether to stop, and reports its progress.
struct TuningWatch {
  std::function<bool()> interrupted = [] { return false; };
  std::function<void(const TuneProgress&)> progress = [](const TuneProgress&) {};
  // Called after every rate that was measured (BandwidthOptions::report).
  std::function<void(uint32_t done, uint32_t total)> measured = [](uint32_t, uint32_t) {};
};

// How many candidates trials did not decide about. If there were trials: what shares of the CPU
// time the host and other processes took during them.
struct TuneDoubt {
  Undecided open;
  std::optional<CpuShares> cpus;
};

struct TuneOutcome {
  Plan start, chosen;
  TunedPhase result;
  std::optional<TunedThreshold> threshold;  // of decode only; none: it was not measured
  TuneDoubt doubt;
  // Counts of the search among predicted costs.
  uint64_t trees = 0, plans = 0, evaluations = 0;
};

struct TuningResult {
  std::vector<TuneOutcome> outcomes;  // decode's and prefill's, where plans were tuned
  Tuned tuned;
  TuneDoubt kernels;  // if kernels were tuned
  std::string path;   // the file that keeps it
  // The parts for which the time was too short, such as "plans of decode". Another call of tuning
  // goes on with them.
  std::vector<std::string> left;
};

TuningResult tune_model(const OpenedModel& model, const Machine& machine, Isa isa,
                        const TunedStore& store, const TuningOptions& options,
                        const TuningWatch& watch = {}, const Listener& listener = {});

// Ranks plans by the cost model only, for any machine; measures and stores nothing. Returns
// prefill's outcome first.
std::vector<TuneOutcome> predict_tuning(const ModelSpec& spec, const Machine& machine,
                                        const BandwidthTable& table, const TuneCases& cases,
                                        uint32_t max_cores);

}  // namespace hearth
