// The ISA levels that tests go through, and the file that tells which those were.
//
// A test program with test_levels.cc in it writes isa_levels.csv into its build folder once all its
// tests have passed: level, whether it was tested, the processor, and for the others what the
// processor lacks. scripts/what_ran.py reads it.
#pragma once

#include <algorithm>
#include <vector>

#include "topology/cpu_features.h"

namespace hearth {

// Returns every level that can run here, slowest first.
std::vector<Isa> test_levels();

// Those of them whose kernel, which is what `kernel_of(isa)` returns, no slower level has as well:
// a level that adds one instruction shares most kernels with the level below it.
template <typename KernelOf>
std::vector<Isa> levels_with_own(KernelOf kernel_of) {
  std::vector<Isa> own;
  for (Isa isa : test_levels()) {
    auto has_it = [&](Isa slower) { return kernel_of(slower) == kernel_of(isa); };
    if (std::none_of(own.begin(), own.end(), has_it)) own.push_back(isa);
  }
  return own;
}

}  // namespace hearth
