// The ISA levels that tests go through, and the file that lists them.
//
// A test program that links test_levels.cc writes isa_levels.csv into its build folder once all its
// tests have passed. Its columns are the level, whether it was tested, the processor, and for
// untested levels the features that the processor lacks. scripts/what_ran.py reads it.
#pragma once

#include <algorithm>
#include <vector>

#include "topology/cpu_features.h"

namespace hearth {

// Returns every level that can run here, slowest first.
std::vector<Isa> test_levels();

// Returns the test levels without those whose kernel, as `kernel_of(isa)` returns it, a slower
// level uses, too. A level that adds one instruction shares most kernels with the level below it.
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
