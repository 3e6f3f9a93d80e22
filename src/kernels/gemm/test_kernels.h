// The GEMM kernels that are tested, and the processors whose schedules the tests use.
#pragma once

#include <algorithm>
#include <memory>
#include <tuple>
#include <vector>

#include "kernels/kernel_tables.h"
#include "kernels/test_levels.h"

namespace hearth {

// Returns every kernel that can run on this machine, once. If a level uses the kernel of the level
// below for a kind, that pair of level and kind is left out.
inline std::vector<std::tuple<Isa, PackKind>> own_gemm_kernels() {
  std::vector<std::tuple<Isa, PackKind>> own;
  std::vector<GemmFn> seen;
  for (Isa isa : test_levels()) {
    for (size_t kind = 0; kind < kPackKinds; ++kind) {
      const GemmFn fn = kernels_for(isa).gemm[kind].fn;
      if (std::ranges::find(seen, fn) != seen.end()) continue;
      seen.push_back(fn);
      own.emplace_back(isa, static_cast<PackKind>(kind));
    }
  }
  return own;
}

// Returns a processor for each file of the program's schedules, and one that no file names.
inline std::vector<Processor> processors_with_schedules() {
  std::vector<Processor> processors(1);
  for (const ProcessorSchedules& each : shipped_processors()) {
    if (each.vendor.empty()) continue;
    processors.push_back({each.vendor, each.family.least, each.model.least});
  }
  return processors;
}

inline std::vector<std::unique_ptr<KernelTables>> tables_of_processors() {
  std::vector<std::unique_ptr<KernelTables>> tables;
  for (const Processor& processor : processors_with_schedules()) {
    tables.push_back(std::make_unique<KernelTables>(schedules_for(processor)));
  }
  return tables;
}

}  // namespace hearth
