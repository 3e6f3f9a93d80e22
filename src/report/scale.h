// Scale: where values lie on an axis, and its ticks, the round values shown beside it: 1, 2 or 5
// times a power of ten.
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
  std::vector<double> ticks;  // from `low` to `high`, both included

  // Returns a value's place: 0 at `low`, 1 at `high`; values beyond are clamped.
  double part(double value) const;
};

// Returns a scale from 0 to a tick that is at least `most`, in at most `steps` + 1 steps.
Scale linear_scale(double most, uint32_t steps = 5);
// Returns a scale for positive values: logarithmic if the largest is over 20 times the smallest,
// else from 0.
Scale scale_over(double least, double most);

// Returns a tick's text: "0", "0.25", "1500", "20 k", "3 M"; parts as "40 %"; seconds as "20 ms",
// "1.5 s".
std::string tick_text(double value, Quantity quantity);

}  // namespace hearth
