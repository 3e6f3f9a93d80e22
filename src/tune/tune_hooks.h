// The functions that a tuning calls: to ask whether it must stop, to report, and to save.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>

#include "base/clock.h"

namespace hearth {

struct TuneProgress {
  const char* what;        // what is tuned: a phase's name, or "kernels"
  const char* unit;        // the name of what `done` counts: "plan"
  uint32_t done, all;      // units done, and units in all
  uint32_t trials, about;  // of the current unit: done so far, and likely in all
  double best = 1;         // time of its best so far; the default's is 1
  double part = 0;         // of the work that is done, weighted by likely time
  double max_left = std::numeric_limits<double>::infinity();  // seconds left
};

struct TuneHooks {
  // Asked before every trial. `about`: how many seconds the trial takes, as far as that is known.
  // Tuning ends where it returns true.
  std::function<bool(double about)> stop = [](double) { return false; };
  // Returns how many pairs of trials, each of so many seconds, may at most decide about a
  // candidate.
  std::function<uint32_t(double pair_seconds)> max_pairs = [](double) { return UINT32_MAX; };
  std::function<void(const TuneProgress&)> progress = [](const TuneProgress&) {};
  // Called whenever there is a new result to keep.
  std::function<void()> save = [] {};
  // Returns seconds since some fixed moment, by which the lengths of trials are measured.
  std::function<double()> clock = steady_seconds;
};

}  // namespace hearth
