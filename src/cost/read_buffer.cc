#include "cost/read_buffer.h"

#include <algorithm>
#include <cstring>

namespace hearth {

uint64_t cache_bytes(const Machine& machine, uint32_t llc) {
  constexpr uint64_t kUsual = uint64_t{32} << 20;
  uint64_t known = machine.llcs[llc].bytes;
  return known > 0 ? known : kUsual;
}

uint64_t rounded_up(uint64_t bytes) { return (bytes + kReadChunk - 1) / kReadChunk * kReadChunk; }

uint64_t bytes_to_have(const Machine& machine, uint32_t node, uint64_t bytes) {
  uint64_t on_node = machine.nodes[node].available_bytes / 2;
  if (on_node > 0) bytes = std::min(bytes, on_node);
  return std::max(bytes / kReadChunk, uint64_t{1}) * kReadChunk;
}

uint64_t ReadBuffer::begin(uint32_t part) {
  uint64_t first = chunks_ * part / kReadParts, end = chunks_ * (part + 1) / kReadParts;
  part_ = data_ + first * kReadChunk;
  part_chunks_ = static_cast<uint32_t>(end - first);
  ++round_;
  return part_chunks_ * kReadChunk;
}

void ReadBuffer::write() noexcept {
  for (uint32_t c; (c = next_.next(round_, part_chunks_)) < part_chunks_;) {
    std::memset(part_ + c * kReadChunk, 0x5a, kReadChunk);
  }
}

void ReadBuffer::read(ReadFn loop, uint64_t* sink) noexcept {
  for (uint32_t c; (c = next_.next(round_, part_chunks_)) < part_chunks_;) {
    *sink ^= loop(part_ + c * kReadChunk, kReadChunk);
  }
}

}  // namespace hearth
