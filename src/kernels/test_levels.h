// The ISA levels that tests go through, and the file that tells which those were.
//
// A test program with test_levels.cc in it writes isa_levels.csv into its build folder once all its
// tests have passed: level, whether it was tested, the processor, and for the others what the
// processor lacks. scripts/what_ran.py reads it.
#pragma once

#include <vector>

#include "topology/cpu_features.h"

namespace hearth {

// Every level that can run here, slowest first.
std::vector<Isa> test_levels();

}  // namespace hearth
