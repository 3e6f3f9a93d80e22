// ScheduleTable: how a model's products are computed (kernels/gemm/schedule.h), as plain data. A
// product's type, sizes and threads are known when a graph is built. The number of its rows is
// known later. If it is that of the step, an op looks up the schedule once a run; if each of
// several matrices has a number of its own, whenever it multiplies one of them. Defaults set by
// hand apply to every product that has no entry, or an entry with the empty schedule.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/gemm/schedule_text.h"
#include "kernels/kernels.h"

namespace hearth {

// A product as a graph uses it, with all that its schedules depend on.
struct ProductUse {
  ProductShape shape;
  uint32_t segments = 1;    // of K, which may be dealt into as many parts
  bool of_outputs = false;  // its rows are a step's rows of logits, not the step's tokens
  // The panels of a task if schedules cannot set them, as for matrices side by side; 0: schedules
  // set them.
  uint16_t task_panels = 0;
  bool operator==(const ProductUse&) const = default;
};

// Returns the numbers of rows that the product may have in steps of `step_rows`: that number or,
// for experts, powers of two, since routing gives some experts many times the rows of others.
std::vector<uint32_t> product_rows(const ProductShape& product, uint32_t step_rows);

// How attention over pages is computed in decode steps. The settings change its speed, and no bit
// of its results.
struct AttendSchedule {
  static constexpr uint32_t kMaxTasks = 16;
  // The number of places in a KV page from which it is prefetched in turn: 1, 4, or 0 for the
  // processor's default.
  uint32_t places = 0;
  // How many tasks a thread has at least, if sequences are long enough to be cut at spans: 1 to
  // kMaxTasks, or 0 for the default.
  uint32_t tasks = 0;

  bool is_default() const { return places == 0 && tasks == 0; }
  bool operator==(const AttendSchedule&) const = default;
};

struct ScheduleTable {
  std::vector<ScheduleEntry> entries;
  AttendSchedule attend = {};

  bool empty() const { return entries.empty() && attend.is_default(); }
  // Returns the product's schedule in steps of `rows` rows; the empty one if no entry names it.
  GemmSchedule at(const ProductShape& product, uint32_t rows) const;
  // Returns the numbers of rows up to which the schedules of all these products stay the same:
  // ascending, the last kAnyRows.
  std::vector<uint32_t> row_bounds(const std::vector<ProductShape>& products) const;
  bool operator==(const ScheduleTable&) const = default;
};

// A product whose rows are known call by call, with its schedules.
class ScheduledProduct {
 public:
  // Makes a product of nothing: use() is empty.
  ScheduledProduct() = default;
  ScheduledProduct(const ScheduleTable& table, const ProductUse& use);

  const ProductUse& use() const { return use_; }
  // Returns the schedule of a call with `rows` rows; the empty one stands for the defaults.
  const GemmSchedule& at(uint32_t rows) const noexcept;

 private:
  ProductUse use_;
  std::vector<RowsDefault> by_rows_ = {{kAnyRows, {}}};  // ascending
};

// Throws Error (kUsage) if an entry is not on the menu of its kernel or stands twice, or if a
// number of `attend` is out of its range. Called once, before a graph is built with the table.
void check_schedules(const ScheduleTable& table, const Kernels& kernels);

}  // namespace hearth
