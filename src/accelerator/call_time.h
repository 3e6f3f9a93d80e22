// How long an accelerator takes for a call, by what it was measured to do (accelerator_rates.h).
//
// A product: seconds for an element of its matrix, between the numbers of rows that were measured
// on the line from one to the next, beyond the last in proportion. Of a kind that was not measured
// the slowest of those that multiply the same activations, else of all. Any other call: its work
// over the rate of its contract; of several lengths on the line between. Attention that was not
// measured counts as a product of f32, and what else was not as the bytes it reads and writes, at
// the memory's rate.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "accelerator/accelerator_rates.h"
#include "accelerator/kernel_calls.h"

namespace hearth {

// Points of a line, by x.
using RateLine = std::vector<std::pair<double, double>>;
// Returns the value at x on the line between its points, of which there is at least one; before the
// first and behind the last it is theirs.
double value_at(const RateLine& line, double x);

// Returns the amount that a call's time grows with: multiply-adds of products and of attention (of
// keys and of values, over the positions that rows see), else elements.
double work_of(const KernelCall& call);

class CallTime {
 public:
  explicit CallTime(const AcceleratorRates& rates);

  // Alone, without what its beginning costs.
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
