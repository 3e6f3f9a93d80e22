// WakeSlot: memory for one call that waits in the reactor, so that posting it allocates nothing.
// The poster makes sure that only one waits at a time; the reactor frees the slot before it makes
// the call.
//
//   asio::post(context, asio::bind_allocator(WakeMemory(slot), call));
#pragma once

#include <array>
#include <cstddef>

#include "base/check.h"

namespace hearth {

struct WakeSlot {
  static constexpr size_t kBytes = 512;
  alignas(std::max_align_t) std::array<std::byte, kBytes> bytes;
};

// An allocator that hands out the slot's memory.
template <typename T = std::byte>
struct WakeMemory {
  using value_type = T;  // NOLINT(readability-identifier-naming)

  explicit WakeMemory(WakeSlot& of) : slot(&of) {}
  template <typename U>
  WakeMemory(const WakeMemory<U>& other) : slot(other.slot) {}  // NOLINT: as allocators have it

  T* allocate(size_t count) {
    HEARTH_CHECK(count * sizeof(T) <= WakeSlot::kBytes, "the call fits into its room");
    return reinterpret_cast<T*>(slot->bytes.data());
  }
  void deallocate(T*, size_t) {}
  bool operator==(const WakeMemory&) const = default;

  WakeSlot* slot;
};

}  // namespace hearth
