// The median, the least and the most of repeated measurements.
#pragma once

#include <algorithm>
#include <vector>

namespace hearth {

struct Spread {
  double median = 0, least = 0, most = 0;
  // (most - least) / median; 0 where there is no median.
  double relative() const { return median > 0 ? (most - least) / median : 0; }
};

// The median of an even number is the mean of the two in the middle. Zeros where there are none.
inline Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  size_t half = values.size() / 2;
  double median = values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
  return {median, values.front(), values.back()};
}

}  // namespace hearth
