#include "embed/device_clock.h"

#include <chrono>
#include <thread>

#include "base/clock.h"

namespace hearth {

double SteadyClock::now() const { return steady_seconds(); }

void SteadyClock::sleep_until(double moment) {
  double left = moment - now();
  if (left > 0) std::this_thread::sleep_for(std::chrono::duration<double>(left));
}

}  // namespace hearth
