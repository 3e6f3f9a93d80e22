// The questions of tuning to its caller, and its reports.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>

#include "base/clock.h"

namespace hearth {

struct TuneProgress {
  const char* what;        // is tuned: a phase's name, or "kernels"
  const char* unit;        // of what is counted: "plan"
  uint32_t done, all;      // of these
  uint32_t trials, about;  // of the one that it is at, and how many it will likely have
  double best = 1;         // time of its best so far as a part of the default's
  double part = 0;         // of all of it that is done, by how long each of these likely takes
  double most_left = std::numeric_limits<double>::infinity();  // seconds that are left for it
};

struct TuneHooks {
  // Asked before every trial, with about how many seconds it takes as far as anybody knows; true
  // ends tuning.
  std::function<bool(double about)> stop = [](double) { return false; };
  std::function<void(const TuneProgress&)> progress = [](const TuneProgress&) {};
  // Called whenever something is known that should not be lost.
  std::function<void()> save = [] {};
  // Seconds since some fixed moment: by it trials are known to take so long.
  std::function<double()> clock = steady_seconds;
};

}  // namespace hearth
