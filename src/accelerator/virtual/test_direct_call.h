// Helpers for tests of the virtual accelerator's contracts: memory for calls, and the same calls
// made directly to the reference kernels, as kernels/ describes them.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "accelerator/virtual/run_call.h"

namespace hearth {

inline constexpr BufferId kCalls = 7;

struct alignas(64) RunLine {
  std::byte bytes[64];
};

// Memory with the bytes of buffer kCalls, the only buffer, aligned for the kernels.
class RunMemory {
 public:
  explicit RunMemory(std::span<const std::byte> bytes)
      : lines_(bytes.size() / sizeof(RunLine) + 1), size_(bytes.size()) {
    std::memcpy(lines_.data(), bytes.data(), bytes.size());
  }

  std::byte* at(const Place& place) { return at(place.offset); }
  std::byte* at(uint64_t offset) { return reinterpret_cast<std::byte*>(lines_.data()) + offset; }
  float* floats(const Place& place) {
    return place ? reinterpret_cast<float*>(at(place.offset)) : nullptr;
  }
  std::vector<std::byte> bytes() { return {at(0), at(0) + size_}; }
  void run(const KernelCall& call) {
    run_call(call, [this](const Place& place) {
      EXPECT_EQ(place.buffer, kCalls);
      return at(place);
    });
  }

 private:
  std::vector<RunLine> lines_;
  size_t size_;
};

// Computes the call with the kernels of kernels/, in other orders and pieces than run_call().
void call_directly(const KernelCall& call, RunMemory& memory);

}  // namespace hearth
