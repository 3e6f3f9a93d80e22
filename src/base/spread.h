// The median, minimum and maximum of repeated measurements.
#pragma once

#include <algorithm>
#include <vector>

namespace hearth {

struct Spread {
  double median = 0, least = 0, most = 0;
  // Returns (most - least) / median; 0 where the median is 0.
  double relative() const { return median > 0 ? (most - least) / median : 0; }
};

// Returns the spread of values, zeros for none. The median of an even number of values is the mean
// of the two in the middle.
inline Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  size_t half = values.size() / 2;
  double median = values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
  return {median, values.front(), values.back()};
}

}  // namespace hearth
