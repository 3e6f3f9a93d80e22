// Percentiles of repeated measurements, and their mean.
#pragma once

#include <vector>

namespace hearth {

// Interpolated between the two values that are next to each, as NumPy does. Zeros where there is
// none.
struct Percentiles {
  double p50 = 0, p90 = 0, p99 = 0, mean = 0;
};
Percentiles percentiles_of(std::vector<double> values);

// The percentiles from 0 to 100: the least first, the most last. Empty where there is no value.
std::vector<double> all_percentiles_of(std::vector<double> values);

}  // namespace hearth
