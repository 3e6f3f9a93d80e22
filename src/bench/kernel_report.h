// The meaning of the times of a matrix product (rates, shares of the limits that were measured
// beside it, and how fast others are at it), and its forms in a report.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "bench/kernel_bench.h"
#include "bench/table.h"
#include "bench/team_limits.h"

namespace hearth {

// Figures of the medians. Shares are parts of 1, of the best sample of the limit.
struct KernelFigures {
  double seconds = 0;  // of one product
  double bytes_per_second = 0, read_share = 0;
  double ops_per_second = 0, peak_share = 0;
  // Reading the weights takes longer at its limit than computing at the peak of its unit.
  bool bound_by_reading = false;
};

// `result` has at least one repetition.
KernelFigures kernel_figures(const KernelResult& result, const LimitSample& best);

// Our speed as a part of theirs, by the medians of both and by the fastest repetition of
// both, which a busy machine disturbs least. `theirs` has a repetition.
struct ContenderShare {
  double median = 0, best = 0;
};
ContenderShare share_of(const KernelResult& ours, const ContenderResult& theirs);

// Returns the row of a table for people: the rate that counts, in GB/s or GOPS. `others` have a
// column each (Contenders::names()).
Cells kernel_cells(uint32_t threads, const KernelResult& result, const LimitSample& best,
                   const std::vector<std::string>& others);
// Returns cells of CSV; each of `others` has two.
Cells kernel_csv(const KernelResult& result, const LimitSample& best,
                 const std::vector<std::string>& others);
// Writes an object.
void kernel_json(Json& json, const KernelResult& result, const LimitSample& best);

}  // namespace hearth
