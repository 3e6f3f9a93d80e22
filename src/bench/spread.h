// What repeated measurements come to.
#pragma once

#include <vector>

namespace hearth {

struct Spread {
  double median = 0, least = 0, most = 0;
  // (most - least) / median; 0 where there is no median.
  double relative() const { return median > 0 ? (most - least) / median : 0; }
};

// The median of an even number is the mean of the two in the middle. Zeros where there are none.
Spread spread_of(std::vector<double> values);

}  // namespace hearth
