// A ChunkCounter hands out chunks of work to free threads in rounds, one chunk or several
// consecutive ones at a time. It needs no reset and no barrier between rounds: a round is named by
// its epoch. The first claim of a newer epoch starts the new round. A thread that still asks for a
// chunk of an older round is told that none is left. That is true, since the thread that started
// the newer round had seen the older one exhausted.
//
// Epochs rise by one and wrap (compared by signed distance); the first is 1. A claim is one
// compare-and-swap, so chunks should take microseconds.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "threads/delay_point.h"
#include "threads/flag.h"

namespace hearth {

struct ChunkClaim {
  uint32_t begin, end;
};

class alignas(kLineSpacing) ChunkCounter {
 public:
  // Claims the next chunk in [0, count) of round `epoch`. Returns `count` if none is left; other
  // threads may then still work on chunks that they claimed.
  uint32_t next(uint32_t epoch, uint32_t count) noexcept {
    return claim(epoch, count, [](uint32_t) { return 1u; }).begin;
  }

  // Claims several consecutive chunks: half of what each of the `takers` would get of the chunks
  // left, at least one (guided self-scheduling: Polychronopoulos and Kuck, 1987). So there are few
  // claims, streams of memory begin at few places, and the last claims are short. Returns an empty
  // claim at `count` if no chunk is left.
  ChunkClaim next_several(uint32_t epoch, uint32_t count, uint32_t takers) noexcept {
    return claim(epoch, count, [&](uint32_t left) { return std::max(1u, left / (2 * takers)); });
  }

 private:
  template <typename Length>
  ChunkClaim claim(uint32_t epoch, uint32_t count, const Length& length) noexcept {
    uint64_t seen = state_.load(std::memory_order_relaxed);
    for (;;) {
      auto distance = static_cast<int32_t>(epoch_of(seen) - epoch);
      uint32_t index = distance == 0 ? index_of(seen) : 0;
      if (distance > 0 || index >= count) return {count, count};
      uint32_t end = index + length(count - index);
      delay_point();
      if (state_.compare_exchange_weak(seen, join(epoch, end), std::memory_order_relaxed)) {
        return {index, end};
      }
    }
  }

  static uint32_t epoch_of(uint64_t state) { return static_cast<uint32_t>(state >> 32); }
  static uint32_t index_of(uint64_t state) { return static_cast<uint32_t>(state); }
  static uint64_t join(uint32_t epoch, uint32_t index) { return uint64_t{epoch} << 32 | index; }

  std::atomic<uint64_t> state_{0};
};

}  // namespace hearth
