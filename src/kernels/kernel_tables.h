// KernelTables: the table of every level that this build has, with how some processor computes what
// no schedule of a product names, by its schedules (kernels/processor_schedules.h).
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/processor_schedules.h"

namespace hearth {

// Returns all levels, lower ones before those that stand on them, without any defaults.
std::span<const Kernels* const> built_levels();

class KernelTables {
 public:
  // Later schedules of a kernel take the place of earlier ones. Those of levels that this build
  // does not have are left out. Throws (kFile) where one is not on the kernel's menu, or
  // none is for products of all sizes of some kernel.
  explicit KernelTables(const std::vector<ProcessorSchedules>& schedules);
  KernelTables(const KernelTables&) = delete;
  KernelTables& operator=(const KernelTables&) = delete;

  // A level that this build has no kernels for is an internal error.
  const Kernels& at(Isa isa) const;

 private:
  void take(const ProcessorSchedules::Level& level, const Kernels& own, Kernels* kernels);
  void take_defaults(const ProcessorSchedules::Level& level, PackKind kind, Kernels* kernels);
  void take_products(const ProcessorSchedules::Level& level, const Kernels& own, Kernels* kernels);

  std::vector<Kernels> levels_;
  // The spans of levels point to these.
  std::deque<std::vector<RowsDefault>> defaults_;
  std::deque<std::vector<ScheduleEntry>> products_;
};

}  // namespace hearth
