// Made-up calls of every contract and the memory that they work on, for check_kernels and tests.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "accelerator/kernel_calls.h"

namespace hearth {

// A call whose places lie in one buffer.
struct CallProblem {
  KernelCall call;
  std::string sizes;  // "17 rows of 768, hostile values"
  // The buffer's bytes before the call. Where the call writes, they have a fixed pattern.
  std::vector<std::byte> memory;
  // The floats among the written bytes. Where the right result is a NaN, any NaN is accepted.
  std::vector<Access> floats;
  // The binary16 numbers among the written bytes. Where the right result is a NaN, any NaN is
  // accepted.
  std::vector<Access> halves = {};
};

// Replaces every NaN among the problem's floats and halves by one fixed NaN, so that NaNs compare
// equal. `memory` is laid out like problem.memory.
void settle_nans(const CallProblem& problem, std::span<std::byte> memory);

struct Contract {
  std::string name;
  // Each function makes one problem, whose places lie in the buffer of this number.
  std::vector<std::function<CallProblem(BufferId, std::mt19937&)>> problems;
  std::optional<PackKind> kind = {};  // for products and tables
};

// Returns all contracts. With `brief` each has a few problems; else each has all sizes, variants
// and values that matter to it.
std::vector<Contract> all_contracts(bool brief);

}  // namespace hearth
