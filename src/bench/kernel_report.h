// The figures of a matrix product (rates, shares of the limits that were measured beside it, and
// the speed of contenders), and their forms in a report.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "bench/kernel_bench.h"
#include "bench/table.h"
#include "bench/team_limits.h"

namespace hearth {

// Figures made of the medians. A share is a part of 1, of the best sample of the limit.
struct KernelFigures {
  double seconds = 0;  // of one product
  double bytes_per_second = 0, read_share = 0;
  double ops_per_second = 0, peak_share = 0;
  // True where reading the weights at the read limit takes longer than computing at the unit's
  // peak.
  bool bound_by_reading = false;
};

// `result` has at least one repetition.
KernelFigures kernel_figures(const KernelResult& result, const LimitSample& best);

// Our speed as a part of the contender's: by the medians of both, and by the fastest repetition of
// both, which a busy machine disturbs least. `theirs` has at least one repetition.
struct ContenderShare {
  double median = 0, best = 0;
};
ContenderShare share_of(const KernelResult& ours, const ContenderResult& theirs);

// Returns the row of a table for people. It shows the rate that bounds the product, in GB/s or
// GOPS. Each of `others` (Contenders::names()) has a column.
Cells kernel_cells(uint32_t threads, const KernelResult& result, const LimitSample& best,
                   const std::vector<std::string>& others);
// Returns the cells of a CSV row. Each of `others` has two.
Cells kernel_csv(const KernelResult& result, const LimitSample& best,
                 const std::vector<std::string>& others);
// Writes the result as a JSON object.
void kernel_json(Json& json, const KernelResult& result, const LimitSample& best);

}  // namespace hearth
