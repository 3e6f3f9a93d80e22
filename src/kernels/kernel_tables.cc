#include "kernels/kernel_tables.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/error.h"

namespace hearth {
namespace {

const Kernels* built(Isa isa) {
  for (const Kernels* level : built_levels()) {
    if (level->isa == isa) return level;
  }
  return nullptr;
}

// Returns the level and all levels that it builds on, lowest first.
std::vector<Isa> lineage(Isa isa) {
  std::vector<Isa> levels{isa};
  while (base_of(levels.back()) != levels.back()) levels.push_back(base_of(levels.back()));
  std::ranges::reverse(levels);
  return levels;
}

[[noreturn]] void refuse(Isa isa, PackKind kind, const std::string& why) {
  fail(ErrorCode::kFile, "the schedules of {} at ISA level {} are not possible: {}",
       pack_kind_name(kind), isa_name(isa), why);
}

void check_default(Isa isa, const ScheduleEntry& entry, const GemmMenu& menu) {
  GemmSchedule s = entry.schedule;
  const PackKind kind = entry.product.kind;
  if (s.task_panels != 0 || s.task_rows != 0 || s.k_parts != 1) {
    refuse(isa, kind, "tasks and parts are those of products of one size, here 0 0 and 1");
  }
  s.task_panels = kTaskPanelsRange.least;
  s.task_rows = kTaskRowsRange.least;
  const std::string fault = schedule_fault(s, menu);
  if (!fault.empty()) refuse(isa, kind, fault);
}

}  // namespace

KernelTables::KernelTables(const std::vector<ProcessorSchedules>& schedules) {
  for (const Kernels* level : built_levels()) {
    Kernels& kernels = levels_.emplace_back(*level);
    for (const ProcessorSchedules& each : schedules) {
      for (Isa isa : lineage(level->isa)) {
        const Kernels* own = built(isa);
        for (const ProcessorSchedules::Level& said : each.levels) {
          if (said.isa == isa && own != nullptr) take(said, *own, &kernels);
        }
      }
    }
    for (size_t kind = 0; kind < kPackKinds; ++kind) {
      if (!kernels.gemm[kind].defaults.empty()) continue;
      refuse(level->isa, static_cast<PackKind>(kind), "none is for products of all sizes");
    }
  }
}

const Kernels& KernelTables::at(Isa isa) const {
  const auto found = std::ranges::find(levels_, isa, &Kernels::isa);
  HEARTH_CHECK(found != levels_.end(), "this build has no kernels for that ISA level");
  return *found;
}

void KernelTables::take(const ProcessorSchedules::Level& level, const Kernels& own,
                        Kernels* kernels) {
  if (level.attend_places != 0) kernels->attend_places = level.attend_places;
  for (size_t kind = 0; kind < kPackKinds; ++kind) {
    if (own.gemm[kind].fn != kernels->gemm[kind].fn) continue;
    take_defaults(level, static_cast<PackKind>(kind), kernels);
  }
  take_products(level, own, kernels);
}

void KernelTables::take_defaults(const ProcessorSchedules::Level& level, PackKind kind,
                                 Kernels* kernels) {
  GemmKernel& gemm = kernels->gemm[static_cast<size_t>(kind)];
  std::vector<RowsDefault> defaults;
  for (const ScheduleEntry& entry : level.entries) {
    if (entry.product.kind != kind || !entry.product.is_any()) continue;
    check_default(level.isa, entry, *gemm.menu);
    if (!defaults.empty() && defaults.back().max_rows >= entry.max_rows) {
      refuse(level.isa, kind, "their rows do not ascend");
    }
    defaults.push_back({entry.max_rows, entry.schedule});
  }
  if (defaults.empty()) return;
  defaults.back().max_rows = kAnyRows;
  gemm.defaults = defaults_.emplace_back(std::move(defaults));
}

void KernelTables::take_products(const ProcessorSchedules::Level& level, const Kernels& own,
                                 Kernels* kernels) {
  std::vector<ScheduleEntry> products;
  for (const ScheduleEntry& entry : level.entries) {
    const auto kind = static_cast<size_t>(entry.product.kind);
    if (entry.product.is_any() || own.gemm[kind].fn != kernels->gemm[kind].fn) continue;
    const std::string fault = entry.schedule.is_default()
                                  ? ""
                                  : schedule_fault(entry.schedule, *kernels->gemm[kind].menu);
    if (!fault.empty()) refuse(level.isa, entry.product.kind, fault);
    products.push_back(entry);
  }
  if (products.empty()) return;
  add_unnamed(kernels->products, &products);
  kernels->products = products_.emplace_back(std::move(products));
}

}  // namespace hearth
