// Time that only goes forward, for measuring how long something takes.
#pragma once

#include <chrono>

namespace hearth {

// Seconds since some fixed moment.
inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace hearth
