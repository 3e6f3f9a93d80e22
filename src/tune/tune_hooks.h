// What tuning asks of its caller, and tells it.
#pragma once

#include <cstdint>
#include <functional>

namespace hearth {

struct TuneProgress {
  const char* what;        // is tuned: a phase's name, or "kernels"
  const char* unit;        // of what is counted: "plan"
  uint32_t done, all;      // of these
  uint32_t trials, about;  // of the one that it is at, and about how many it will have
  double best = 1;         // time of its best so far as a part of the default's
};

struct TuneHooks {
  // Asked before every trial; true ends tuning.
  std::function<bool()> stop = [] { return false; };
  std::function<void(const TuneProgress&)> progress = [](const TuneProgress&) {};
  // Called whenever something is known that should not be lost.
  std::function<void()> save = [] {};
};

}  // namespace hearth
