// Places in an accelerator's memory: buffers have numbers, and places are offsets in them. Buffer
// numbers are the accelerator's own, in the order in which they were made; none is used twice.
#pragma once

#include <cstdint>

namespace hearth {

using BufferId = uint32_t;
inline constexpr BufferId kNoBuffer = UINT32_MAX;
// No buffer is as long: sums and products of offsets and strides below it do not overflow.
inline constexpr uint64_t kMostBufferBytes = uint64_t{1} << 48;

struct Place {
  BufferId buffer = kNoBuffer;
  uint64_t offset = 0;  // bytes

  explicit operator bool() const { return buffer != kNoBuffer; }
  Place operator+(uint64_t bytes) const { return {buffer, offset + bytes}; }
  bool operator==(const Place&) const = default;
};

// The bytes that a command reads or writes: `rows` runs of `bytes`, `stride` bytes from one to the
// next.
struct Access {
  Place at;
  uint64_t bytes = 0;
  uint64_t stride = 0;  // at least `bytes` where there are several rows
  uint32_t rows = 1;
  bool writes = false;

  bool operator==(const Access&) const = default;
};

// Returns the position behind the last byte; UINT64_MAX where that is beyond all numbers.
uint64_t end_of(const Access& a);

// Whether a byte lies in both.
bool overlap(const Access& a, const Access& b);

}  // namespace hearth
