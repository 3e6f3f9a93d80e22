// Every contract that an accelerator knows, held against the reference kernels to the bit, on
// random and hostile values: whether its driver and its arithmetic can be relied on.
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
  uint64_t values = 0;       // compared, of all calls
  uint64_t differ = 0;       // of these, in their bits; what lies beside the results counts too
  std::string first = {};    // of those that differ: which call, where, what came and what should
  std::string refused = {};  // not computed, and why; empty: it was
  double seconds = 0;        // by the accelerator, all calls

  bool good() const { return differ == 0 && refused.empty(); }
};

struct CheckAmount {
  uint32_t seed = 1;
  // Checks a few sizes and rows of each contract, as at a start; else all.
  bool brief = false;
  // Contracts whose names hold this; empty: all.
  std::string only = {};
  // The kinds of products and tables that are checked; none: all.
  std::optional<std::vector<PackKind>> kinds = {};
};

// Checks contract by contract and tells each as it is done. Throws Error (kResource) where the
// accelerator is lost.
void check_kernels(Accelerator& accelerator, const CheckAmount& amount,
                   const std::function<void(const KernelCheck&)>& tell);

}  // namespace hearth
