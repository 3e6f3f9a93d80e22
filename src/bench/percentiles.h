// Percentiles of repeated measurements, and their mean.
#pragma once

#include <vector>

namespace hearth {

// Percentiles interpolated between the two nearest values, as NumPy does; all 0 where there are no
// values.
struct Percentiles {
  double p50 = 0, p90 = 0, p99 = 0, mean = 0;
};
Percentiles percentiles_of(std::vector<double> values);

// Returns the percentiles 0 to 100: 101 numbers, the least first. Empty where there is no value.
std::vector<double> all_percentiles_of(std::vector<double> values);

}  // namespace hearth
