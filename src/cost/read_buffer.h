// A buffer that threads of one node read to measure bandwidth. It has parts, and each part has
// chunks that threads claim. If the buffer is kTimesCache times as large as the caches, a part is
// half as large as they are. Then three and a half times the caches' size is read before the same
// part is read again. Parts are no longer than that, since on a busy machine longer reads are
// seldom undisturbed.
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

// Returns the size of a last-level cache; an unknown size counts as 32 MiB.
uint64_t cache_bytes(const Machine& machine, uint32_t llc);
// Returns `bytes` rounded up to whole chunks.
uint64_t rounded_up(uint64_t bytes);
// Returns how large a buffer on `node` may be: `bytes`, but at most half of the node's free memory,
// in whole chunks, and at least one chunk.
uint64_t bytes_to_have(const Machine& machine, uint32_t node, uint64_t bytes);

class ReadBuffer {
 public:
  // `bytes` is a multiple of a chunk. Throws what Arena throws.
  ReadBuffer(const Machine& machine, uint32_t node, uint64_t bytes)
      : arena_(machine, node, bytes, "read buffer"),
        data_(arena_.allocate(bytes)),
        chunks_(bytes / kReadChunk) {}

  uint64_t huge_bytes() const { return arena_.huge_bytes(); }

  // Chooses the part for the next write() or read(), and returns its bytes. One thread calls this.
  uint64_t begin(uint32_t part);
  // Write or read the chosen part. Several threads call one of them at the same time, and each
  // chunk is done by one of them. write() must come before read(): the system gives unwritten
  // memory as one page of zeros, which stays in the cache.
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
