// Compares every contract that an accelerator computes with the reference kernels, to the bit, on
// random and hostile values. The comparison shows whether the driver and its arithmetic can be
// relied on.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "accelerator/accelerator.h"

namespace hearth {

struct KernelCheck {
  std::string contract;  // "gemm q4_k"
  uint64_t calls = 0;
  uint64_t values = 0;       // compared, in all calls
  uint64_t differ = 0;       // values with other bits, and bytes changed beside the results
  std::string first = {};    // the first that differs: call, place, value, and right value
  std::string refused = {};  // why it was not computed; empty: it was
  double seconds = 0;        // the accelerator's time for all calls

  bool good() const { return differ == 0 && refused.empty(); }
};

struct CheckAmount {
  uint32_t seed = 1;
  // Whether to check only a few sizes of each contract, which is quick enough for the start of a
  // program.
  bool brief = false;
  // Checks only contracts whose names contain this; empty: all.
  std::string only = {};
  // The kinds of products and tables that are checked; none: all.
  std::optional<std::vector<PackKind>> kinds = {};
};

// Checks one contract after another, and calls `on_check` when each is done. Throws Error
// (kResource) where the accelerator is lost.
void check_kernels(Accelerator& accelerator, const CheckAmount& amount,
                   const std::function<void(const KernelCheck&)>& on_check);

}  // namespace hearth
