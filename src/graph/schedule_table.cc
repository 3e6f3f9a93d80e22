#include "graph/schedule_table.h"

#include <algorithm>

#include "base/error.h"
#include "graph/graph.h"

namespace hearth {
namespace {

std::string name_of(const ScheduleEntry& entry) {
  const ProductShape& p = entry.product;
  return fmt::format("the schedule of {} {} x {} with {} threads and {} rows",
                     pack_kind_name(p.kind), p.outputs, p.k, p.threads, entry.max_rows);
}

// The numbers of rows for which an expert's product has schedules: from 1 / kFewerRows to kMoreRows
// times the average number of an expert. Larger numbers than kMaxExpertRows count as
// kMaxExpertRows.
constexpr uint32_t kMaxExpertRows = 64, kFewerRows = 8, kMoreRows = 4;

}  // namespace

std::vector<uint32_t> product_rows(const ProductShape& product, uint32_t step_rows) {
  if (product.of_experts == 0) return {step_rows};
  const uint64_t all = uint64_t{step_rows} * product.matrices;
  std::vector<uint32_t> rows;
  for (uint32_t power = 1; power <= std::min(step_rows, kMaxExpertRows); power *= 2) {
    const uint64_t of_all = uint64_t{power} * product.of_experts;
    const bool few_enough = power == 1 || of_all <= kMoreRows * all;
    const bool many_enough = power == kMaxExpertRows || of_all * kFewerRows >= all;
    if (few_enough && many_enough) rows.push_back(power);
  }
  return rows;
}

ScheduledProduct::ScheduledProduct(const ScheduleTable& table, const ProductUse& use) : use_(use) {
  by_rows_.clear();
  for (uint32_t max_rows : table.row_bounds({use.shape})) {
    by_rows_.push_back({max_rows, table.at(use.shape, max_rows)});
  }
}

const GemmSchedule& ScheduledProduct::at(uint32_t rows) const noexcept {
  return schedule_for(by_rows_, rows);
}

GemmSchedule ScheduleTable::at(const ProductShape& product, uint32_t rows) const {
  const ScheduleEntry* best = nullptr;
  for (const ScheduleEntry& entry : entries) {
    if (entry.product != product) continue;
    const bool enough = entry.max_rows >= rows;
    const bool best_enough = best != nullptr && best->max_rows >= rows;
    // Takes the entry with the smallest max_rows that is at least `rows`. If there is none, takes
    // the entry with the largest max_rows.
    if (best == nullptr || (enough && (!best_enough || entry.max_rows < best->max_rows)) ||
        (!enough && !best_enough && entry.max_rows > best->max_rows)) {
      best = &entry;
    }
  }
  return best == nullptr ? GemmSchedule{} : best->schedule;
}

std::vector<uint32_t> ScheduleTable::row_bounds(const std::vector<ProductShape>& products) const {
  std::vector<uint32_t> bounds{kAnyRows};
  for (const ProductShape& product : products) {
    uint32_t most = 0;
    for (const ScheduleEntry& entry : entries) {
      if (entry.product == product) most = std::max(most, entry.max_rows);
    }
    for (const ScheduleEntry& entry : entries) {
      if (entry.product == product && entry.max_rows < most) bounds.push_back(entry.max_rows);
    }
  }
  std::sort(bounds.begin(), bounds.end());
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  return bounds;
}

std::vector<ProductUse> Graph::products() const {
  std::vector<ProductUse> distinct;
  for (const GraphNode& node : nodes) {
    for (const std::unique_ptr<Op>& op : node.instances) {
      for (const ProductUse& use : op->products()) {
        if (use.shape.outputs == 0 || use.shape.k == 0) continue;
        if (std::find(distinct.begin(), distinct.end(), use) != distinct.end()) continue;
        distinct.push_back(use);
      }
    }
  }
  return distinct;
}

bool Graph::attends() const {
  return std::ranges::any_of(nodes, [](const GraphNode& node) {
    return std::ranges::any_of(node.instances,
                               [](const std::unique_ptr<Op>& op) { return op->attends(); });
  });
}

void check_schedules(const ScheduleTable& table, const Kernels& kernels) {
  const AttendSchedule& attend = table.attend;
  if ((attend.places != 0 && attend.places != 1 && attend.places != 4) ||
      attend.tasks > AttendSchedule::kMaxTasks) {
    fail(ErrorCode::kUsage,
         "the schedule of attention has {} prefetch streams and {} tasks a thread: give 1 or 4 "
         "streams, and 1 to {} tasks",
         attend.places, attend.tasks, AttendSchedule::kMaxTasks);
  }
  for (size_t i = 0; i < table.entries.size(); ++i) {
    const ScheduleEntry& entry = table.entries[i];
    const GemmMenu& menu = *kernels.gemm[static_cast<size_t>(entry.product.kind)].menu;
    const std::string fault =
        entry.schedule.is_default() ? "" : schedule_fault(entry.schedule, menu);
    if (!fault.empty()) {
      fail(ErrorCode::kUsage, "{} is not possible at ISA level {}: {}", name_of(entry),
           isa_name(kernels.isa), fault);
    }
    for (size_t j = 0; j < i; ++j) {
      if (table.entries[j].is_case_of(entry)) {
        fail(ErrorCode::kUsage, "{} is given twice: remove one", name_of(entry));
      }
    }
  }
}

}  // namespace hearth
