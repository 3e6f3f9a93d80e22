// The functions that tuning calls to ask whether it must stop, to report, and to save.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>

#include "base/clock.h"
#include "bench/cpu_times.h"

namespace hearth {

struct TuneProgress {
  const char* what;        // what is tuned: a phase's name, or "kernels"
  const char* unit;        // the name of what `done` counts: "plan"
  uint32_t done, all;      // units done, and units in all
  uint32_t trials, about;  // trials of the current unit: done, and likely in all
  double best = 1;         // time of the unit's best so far; the default's is 1
  double part = 0;         // share of all work that is done, by likely time
  double max_left = std::numeric_limits<double>::infinity();  // seconds left
};

struct TuneHooks {
  // Called before every trial. `about`: how many seconds the trial is likely to take; 0: not known.
  // Tuning stops if it returns true.
  std::function<bool(double about)> stop = [](double) { return false; };
  // Returns the most pairs of trials that may be used to decide about a candidate, if each pair
  // takes so many seconds.
  std::function<uint32_t(double pair_seconds)> max_pairs = [](double) { return UINT32_MAX; };
  std::function<void(const TuneProgress&)> progress = [](const TuneProgress&) {};
  // Called after each new result, to store it.
  std::function<void()> save = [] {};
  // Called before each trial of steps, or pair of such trials. The function that it returns is
  // called at its end, and tells whether the host of a virtual machine let it run undisturbed.
  using Quiet = std::function<bool(double seconds, uint32_t threads)>;
  std::function<Quiet()> watch_host = [] {
    return [check = QuietCheck()](double seconds, uint32_t threads) {
      return check.quiet(seconds, threads);
    };
  };
  // Returns seconds since some fixed moment. The lengths of trials are measured by this clock.
  std::function<double()> clock = steady_seconds;
};

}  // namespace hearth
