// Predicts how long an accelerator takes for a call, from its measured rates (accelerator_rates.h).
//
// The time of a product is counted in seconds for each element of its matrix. That figure is
// interpolated linearly between the measured numbers of rows; above the largest of them, it grows
// in proportion to the rows. A kind that was not measured counts as the slowest measured kind with
// the same format of activations, or else as the slowest kind of all. The time of any other call is
// its work over the rate of its contract, interpolated between the measured lengths. Attention that
// was not measured counts as a product of f32. Other calls that were not measured take the time in
// which the memory moves the bytes that they read and write.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "accelerator/accelerator_rates.h"
#include "accelerator/kernel_calls.h"

namespace hearth {

// The points (x, y) of a line, in ascending order of x.
using RateLine = std::vector<std::pair<double, double>>;
// Returns the value at x, linear between the points, of which there must be at least one. Before
// the first and after the last point it is that point's value.
double value_at(const RateLine& line, double x);

// Returns the amount of work that a call's time is proportional to. For products and attention it
// is multiply-adds (of keys and values, over the positions that rows see); for other calls it is
// elements.
double work_of(const KernelCall& call);

class CallTime {
 public:
  explicit CallTime(const AcceleratorRates& rates);

  // Returns the seconds that the call takes alone, without command_seconds().
  double seconds(const KernelCall& call) const;
  // Returns the seconds that an ordered command costs however short it is; 0 where that was not
  // measured.
  double command_seconds() const { return command_seconds_; }

 private:
  double product_seconds(const GemmCall& call) const;
  double attention_seconds(const KernelCall& call) const;

  std::map<PackKind, RateLine> products_;     // by rows: seconds of an element of the matrix
  std::map<std::string, RateLine> kernels_;   // by length: seconds of a unit of work
  double memory_rate_, command_seconds_ = 0;  // bytes a second; seconds
};

}  // namespace hearth
