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
  // The buffer's bytes before the call; those that it writes are filled with a pattern.
  std::vector<std::byte> memory;
  // Floats among the written bytes, of which any NaN is as good as another.
  std::vector<Access> floats;
  // Numbers of 16 bits among the written bytes that are binary16; any NaN is as good as another
  // there, too.
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

// Returns all contracts. `brief`: a few problems of each, else sizes, variants and values that
// matter to any of them.
std::vector<Contract> all_contracts(bool brief);

}  // namespace hearth
