// Defines the order in which a read loop goes through memory, for the ISA files of this folder.
#pragma once

#include "kernels/limits/limits.h"

namespace hearth {
namespace {

// Calls line(q) for every 64 bytes of [p, p + bytes). These are cut into parts, one for each
// stream, and each stream in turn takes its next 64 bytes. Streams start at different places of
// their parts, since otherwise all would use the same set of a cache at once.
template <typename Line>
void read_streams(const std::byte* p, size_t bytes, Line line) {
  constexpr size_t kAhead = 1024, kApart = 576;
  const size_t part = bytes / kReadStreams;
  if (part == 0) return;
  size_t at[kReadStreams];
  for (size_t s = 0; s < kReadStreams; ++s) at[s] = s * kApart % part;
  for (size_t i = 0; i < part; i += 64) {
    for (size_t s = 0; s < kReadStreams; ++s) {
      const std::byte* q = p + part * s + at[s];
      __builtin_prefetch(q + kAhead);
      line(q);
      at[s] = at[s] + 64 < part ? at[s] + 64 : 0;
    }
  }
}

}  // namespace
}  // namespace hearth
