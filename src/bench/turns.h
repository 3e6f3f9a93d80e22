// Times two pieces of work in turns: in pairs, whose order alternates.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/spread.h"

namespace hearth {

// The spread of the ratio of a pair: the first piece's seconds over the second's.
struct TurnRatios {
  double median = 0, low = 0, high = 0;  // the median, and the quartiles
  double first_seconds = 0;              // of the first piece, median
};

// Runs `pairs` pairs. first() and second() do the work and return its seconds.
template <typename First, typename Second>
TurnRatios time_in_turns(uint32_t pairs, const First& first, const Second& second) {
  std::vector<double> ratios, seconds;
  for (uint32_t i = 0; i < pairs; ++i) {
    double one = 0, other = 0;
    if (i % 2 == 0) one = first();
    other = second();
    if (i % 2 != 0) one = first();
    ratios.push_back(one / other);
    seconds.push_back(one);
  }
  std::sort(ratios.begin(), ratios.end());
  auto at = [&](double part) { return ratios[static_cast<size_t>(part * (pairs - 1) + 0.5)]; };
  return {spread_of(ratios).median, at(0.25), at(0.75), spread_of(seconds).median};
}

}  // namespace hearth
