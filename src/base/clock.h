// A monotonic clock, for measuring durations.
#pragma once

#include <chrono>

namespace hearth {

// Returns seconds since some fixed moment.
inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace hearth
