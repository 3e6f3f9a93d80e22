#include "hybrid/upload.h"

#include <algorithm>

#include "base/round_up.h"

namespace hearth {
namespace {

constexpr uint64_t kAlign = 256;
// Of one buffer, so that a hole in the memory of a card hurts little.
constexpr uint64_t kBufferBytes = uint64_t{1} << 30;

uint64_t room_of(const Upload& upload) { return round_up(upload.bytes.size(), kAlign); }

}  // namespace

uint64_t upload_bytes(std::span<const Upload> uploads) {
  uint64_t bytes = 0;
  for (const Upload& upload : uploads) bytes += room_of(upload);
  return bytes;
}

std::vector<Buffer> upload_all(Accelerator& accelerator, std::span<const Upload> uploads) {
  std::vector<Buffer> buffers;
  const uint64_t most = std::min(accelerator.facts().allocation_bytes, kBufferBytes);
  for (size_t begin = 0; begin < uploads.size();) {
    uint64_t taken = 0;
    size_t end = begin;
    for (; end < uploads.size(); ++end) {
      const uint64_t next = room_of(uploads[end]);
      if (end > begin && taken + next > most) break;
      taken += next;
    }
    const Buffer& buffer = buffers.emplace_back(accelerator.allocate(taken));
    uint64_t offset = 0;
    for (; begin < end; ++begin) {
      *uploads[begin].place = buffer.at(offset);
      accelerator.write(*uploads[begin].place, uploads[begin].bytes);
      offset += room_of(uploads[begin]);
    }
  }
  return buffers;
}

}  // namespace hearth
