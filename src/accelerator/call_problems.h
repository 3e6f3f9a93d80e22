// Made-up calls of every contract, with the memory they work on: for check_kernels and tests.
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
  // What the buffer holds before; what is to be written is filled with a pattern.
  std::vector<std::byte> memory;
  // Of what is written: floats, of which any NaN is as good as another.
  std::vector<Access> floats;
  // Likewise numbers of 16 bits that are binary16.
  std::vector<Access> halves = {};
};

// Makes one NaN of all that there are among these numbers, in memory as the problem's lies.
void settle_nans(const CallProblem& problem, std::span<std::byte> memory);

struct Contract {
  std::string name;
  // Makes each of its problems, in the buffer of this number.
  std::vector<std::function<CallProblem(BufferId, std::mt19937&)>> problems;
  std::optional<PackKind> kind = {};  // of products and tables
};

// Of all contracts. `brief`: a few problems of each, else sizes, variants and values that matter to
// any of them.
std::vector<Contract> all_contracts(bool brief);

}  // namespace hearth
