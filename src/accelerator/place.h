// Places in an accelerator's memory. A place is a buffer's number and an offset in it. The
// accelerator numbers its buffers in the order in which they are made, and uses no number twice.
#pragma once

#include <cstdint>

namespace hearth {

using BufferId = uint32_t;
inline constexpr BufferId kNoBuffer = UINT32_MAX;
// Every buffer is shorter than this, so sums and products of its offsets and strides do not
// overflow 64 bits.
inline constexpr uint64_t kMaxBufferBytes = uint64_t{1} << 48;

struct Place {
  BufferId buffer = kNoBuffer;
  uint64_t offset = 0;  // bytes

  explicit operator bool() const { return buffer != kNoBuffer; }
  Place operator+(uint64_t bytes) const { return {buffer, offset + bytes}; }
  bool operator==(const Place&) const = default;
};

// The bytes that a command reads or writes: `rows` runs of `bytes` bytes, each `stride` bytes after
// the one before.
struct Access {
  Place at;
  uint64_t bytes = 0;
  uint64_t stride = 0;  // at least `bytes` where there are several rows
  uint32_t rows = 1;
  bool writes = false;

  bool operator==(const Access&) const = default;
};

// Returns the offset after the last byte; UINT64_MAX where it does not fit into 64 bits.
uint64_t end_of(const Access& a);

// Whether a and b have a byte in common.
bool overlap(const Access& a, const Access& b);

}  // namespace hearth
