// KernelTables: the kernels of every level that this build has, with the schedules of one processor
// (kernels/processor_schedules.h). They are used for all products without their own schedule.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/processor_schedules.h"

namespace hearth {

// Returns all levels, each before the levels that build on it, without any default schedules.
std::span<const Kernels* const> built_levels();

class KernelTables {
 public:
  // A kernel's later schedules replace its earlier ones. Schedules for levels that this build does
  // not have are left out. Throws (kFile) if a schedule is not on the kernel's menu, or if a kernel
  // has none for products of all sizes.
  explicit KernelTables(const std::vector<ProcessorSchedules>& schedules);
  KernelTables(const KernelTables&) = delete;
  KernelTables& operator=(const KernelTables&) = delete;

  // Returns the table of a level. It is an internal error if this build has no kernels for it.
  const Kernels& at(Isa isa) const;

 private:
  void take(const ProcessorSchedules::Level& level, const Kernels& own, Kernels* kernels);
  void take_defaults(const ProcessorSchedules::Level& level, PackKind kind, Kernels* kernels);
  void take_products(const ProcessorSchedules::Level& level, const Kernels& own, Kernels* kernels);

  std::vector<Kernels> levels_;
  // The spans in `levels_` point into these.
  std::deque<std::vector<RowsDefault>> defaults_;
  std::deque<std::vector<ScheduleEntry>> products_;
};

}  // namespace hearth
