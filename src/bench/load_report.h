// The figures of loading, and their forms in a report.
#pragma once

#include <cstdint>
#include <optional>

#include "base/json.h"
#include "base/spread.h"
#include "bench/load_bench.h"
#include "bench/table.h"

namespace hearth {

// Rates are the file's bytes over the median seconds.
struct LoadFigures {
  Spread seconds, packing_seconds, copying_seconds;
  double packed_per_second = 0, copied_per_second = 0;
  Spread share;  // packing's rate over copying's, in each repetition
  // The highest number of bytes in any repetition; none: unknown.
  std::optional<uint64_t> peak_bytes;
  // The lowest numbers of bytes in any repetition.
  uint64_t huge_bytes = 0, copy_huge_bytes = 0;
};

// `result` has at least one repetition.
LoadFigures load_figures(const LoadResult& result);

// Returns the row of a table for people.
Cells load_cells(uint32_t threads, const LoadResult& result);
// Returns the cells of a CSV row.
Cells load_csv(const LoadResult& result);
// Writes the result as a JSON object.
void load_json(Json& json, const LoadResult& result);

}  // namespace hearth
