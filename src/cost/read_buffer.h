// A buffer that threads of one node read to measure bandwidth: in parts, each in chunks that they
// claim. A part is half the caches' size where the buffer is kTimesCache as large as they are: by
// the time it is read again, three and a half times that much has passed through them; and on a
// busy machine few stretches longer than that are undisturbed.
#pragma once

#include <cstdint>

#include "kernels/limits/limits.h"
#include "memory/arena.h"
#include "threads/chunk_counter.h"
#include "topology/machine.h"

namespace hearth {

inline constexpr uint64_t kReadChunk = uint64_t{1} << 20;
inline constexpr uint64_t kTimesCache = 4;
inline constexpr uint32_t kReadParts = 8;

// The size of a last-level cache; one of unknown size counts as 32 MiB.
uint64_t cache_bytes(const Machine& machine, uint32_t llc);
// Returns the bytes of the whole chunks that hold `bytes`.
uint64_t rounded_up(uint64_t bytes);
// Returns at most `bytes`, and at most half of the memory that `node` has free; whole chunks, at
// least one.
uint64_t bytes_to_have(const Machine& machine, uint32_t node, uint64_t bytes);

class ReadBuffer {
 public:
  // `bytes`: whole chunks. Throws as Arena does.
  ReadBuffer(const Machine& machine, uint32_t node, uint64_t bytes)
      : arena_(machine, node, bytes, "read buffer"),
        data_(arena_.allocate(bytes)),
        chunks_(bytes / kReadChunk) {}

  uint64_t huge_bytes() const { return arena_.huge_bytes(); }

  // Part `part` is what the next write() or read() is of; returns its bytes. By one thread.
  uint64_t begin(uint32_t part);
  // Both are called by several threads at once, and each chunk is done by one of them. Memory that
  // was never written is one page of zeros, in the cache: write() comes first.
  void write() noexcept;
  void read(ReadFn loop, uint64_t* sink) noexcept;

 private:
  Arena arena_;
  std::byte* data_;
  uint64_t chunks_;
  std::byte* part_ = nullptr;
  uint32_t part_chunks_ = 0;
  uint32_t round_ = 0;
  ChunkCounter next_;
};

}  // namespace hearth
