#include "graph/schedule_table.h"

#include <algorithm>

#include "base/error.h"
#include "graph/graph.h"

namespace hearth {
namespace {

std::string name_of(const ScheduleEntry& entry) {
  const ProductShape& p = entry.product;
  return fmt::format("the schedule of {} {} x {} with {} threads and {} rows",
                     pack_kind_name(p.kind), p.outputs, p.k, p.threads, entry.most_rows);
}

}  // namespace

GemmSchedule ScheduleTable::at(const ProductShape& product, uint32_t rows) const {
  const ScheduleEntry* best = nullptr;
  for (const ScheduleEntry& entry : entries) {
    if (entry.product != product) continue;
    const bool enough = entry.most_rows >= rows;
    const bool best_enough = best != nullptr && best->most_rows >= rows;
    // The least that is enough, else the most.
    if (best == nullptr || (enough && (!best_enough || entry.most_rows < best->most_rows)) ||
        (!enough && !best_enough && entry.most_rows > best->most_rows)) {
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
      if (entry.product == product) most = std::max(most, entry.most_rows);
    }
    for (const ScheduleEntry& entry : entries) {
      if (entry.product == product && entry.most_rows < most) bounds.push_back(entry.most_rows);
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

void check_schedules(const ScheduleTable& table, const Kernels& kernels) {
  for (size_t i = 0; i < table.entries.size(); ++i) {
    const ScheduleEntry& entry = table.entries[i];
    const GemmMenu& menu = *kernels.gemm[static_cast<size_t>(entry.product.kind)].menu;
    const std::string fault =
        entry.schedule.is_default() ? "" : schedule_fault(entry.schedule, menu);
    if (!fault.empty()) {
      fail(ErrorCode::kUsage, "{} cannot be at ISA level {}: {}", name_of(entry),
           isa_name(kernels.isa), fault);
    }
    for (size_t j = 0; j < i; ++j) {
      const ScheduleEntry& other = table.entries[j];
      if (other.product == entry.product && other.most_rows == entry.most_rows) {
        fail(ErrorCode::kUsage, "{} stands twice: take one of them out", name_of(entry));
      }
    }
  }
}

}  // namespace hearth
