// ScheduleTable: how a model's products are computed (kernels/gemm/schedule.h), as plain data.
// Type, sizes and threads of a product are known when a graph is built; rows are those of a step,
// of which ops look up the schedule once a run. A product that no entry names, one whose entry has
// the empty schedule, and every product under an empty table is computed as set by hand. Experts'
// products and those of latents always are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/gemm/schedule_text.h"
#include "kernels/kernels.h"

namespace hearth {

// What a graph uses a product for: all that its schedules depend on.
struct ProductUse {
  ProductShape shape;
  bool column_cut = false;  // K has segments, and may be dealt
  bool of_outputs = false;  // its rows are those of logits that a step gives, not its tokens
  bool operator==(const ProductUse&) const = default;
};

struct ScheduleTable {
  std::vector<ScheduleEntry> entries;

  bool empty() const { return entries.empty(); }
  // Returns the product's schedule in steps of so many rows; the empty one where no entry names it.
  GemmSchedule at(const ProductShape& product, uint32_t rows) const;
  // Returns the numbers of rows up to which the schedules of all these products stay: ascending,
  // the last kAnyRows.
  std::vector<uint32_t> row_bounds(const std::vector<ProductShape>& products) const;
  bool operator==(const ScheduleTable&) const = default;
};

// Throws (kUsage) where an entry is not on the menu of its kind's kernel, or stands twice. Called
// once, before a graph is built with the table.
void check_schedules(const ScheduleTable& table, const Kernels& kernels);

}  // namespace hearth
