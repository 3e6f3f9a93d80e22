// OpWork: what an op has to do in a step, to be held against what the machine could do. Bytes are
// those of packed weights and of the KV cache that it must read from memory, each counted once
// however many tasks read it again from a cache; activations stay in caches and are not counted.
// Operations are those of matrix products and of attention, a multiplication and an addition being
// two, by the unit that they run on; padding is not counted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/limits/limits.h"

namespace hearth {

struct OpWork {
  uint64_t bytes = 0;
  std::array<uint64_t, kUnits> operations{};  // by Unit

  uint64_t& of(Unit unit) { return operations[static_cast<size_t>(unit)]; }
  uint64_t of(Unit unit) const { return operations[static_cast<size_t>(unit)]; }
  OpWork& operator+=(const OpWork& other) {
    bytes += other.bytes;
    for (size_t u = 0; u < kUnits; ++u) operations[u] += other.operations[u];
    return *this;
  }
  bool operator==(const OpWork&) const = default;
};

// What rows at positions first_position, first_position + 1, ... see by causal attention: each the
// positions up to its own, or the last `window` of them (0: all).
struct Visible {
  uint64_t positions;  // that some row sees
  uint64_t pairs;      // of a row and a position
};
Visible visible(uint64_t first_position, uint64_t rows, uint64_t window);

}  // namespace hearth
