// The scales of axes: where values lie along one, and the round values that are told beside it
// (ticks): 1, 2 or 5 times a power of ten.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hearth {

// The kind of a value, which decides how it is written.
enum class Quantity : uint8_t { kNumber, kPart, kSeconds };

struct Scale {
  double low = 0, high = 1;
  bool logarithmic = false;
  std::vector<double> ticks;  // from `low` to `high`, both among them

  // 0 at `low`, 1 at `high`; what lies beyond is held there.
  double part(double value) const;
};

// Returns a scale from 0 to a tick that is at least `most`, in at most `steps` + 1 steps.
Scale linear_scale(double most, uint32_t steps = 5);
// Returns a scale over values that are above 0: logarithmic where the largest is over 20 times the
// smallest, else from 0.
Scale scale_over(double least, double most);

// "0", "0.25", "1500", "20 k", "3 M"; parts as "40 %"; seconds as "20 ms" and "1.5 s".
std::string tick_text(double value, Quantity quantity);

}  // namespace hearth
