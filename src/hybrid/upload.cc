#include "hybrid/upload.h"

#include <algorithm>

#include "base/round_up.h"

namespace hearth {
namespace {

constexpr uint64_t kAlign = 256;
// The longest buffer. It is so short that gaps in a card's memory waste little.
constexpr uint64_t kBufferBytes = uint64_t{1} << 30;

uint64_t room_of(const Upload& upload) { return round_up(upload.bytes.size(), kAlign); }

}  // namespace

uint64_t upload_bytes(std::span<const Upload> uploads) {
  uint64_t bytes = 0;
  for (const Upload& upload : uploads) bytes += room_of(upload);
  return bytes;
}

std::vector<Place> allocate_together(Accelerator& accelerator, std::span<const uint64_t> bytes,
                                     std::vector<Buffer>* buffers) {
  std::vector<Place> places;
  const uint64_t most = std::min(accelerator.facts().allocation_bytes, kBufferBytes);
  for (size_t begin = 0; begin < bytes.size();) {
    std::vector<uint64_t> offsets;
    uint64_t taken = 0;
    for (size_t i = begin; i < bytes.size(); ++i) {
      const uint64_t offset = round_up(taken, kAlign);
      if (i > begin && offset + bytes[i] > most) break;
      offsets.push_back(offset);
      taken = offset + bytes[i];
    }
    const Buffer& buffer = buffers->emplace_back(accelerator.allocate(taken));
    for (uint64_t offset : offsets) places.push_back(buffer.at(offset));
    begin += offsets.size();
  }
  return places;
}

std::vector<Buffer> upload_all(Accelerator& accelerator, std::span<const Upload> uploads) {
  std::vector<uint64_t> bytes;
  for (const Upload& upload : uploads) bytes.push_back(upload.bytes.size());
  std::vector<Buffer> buffers;
  const std::vector<Place> places = allocate_together(accelerator, bytes, &buffers);
  for (size_t i = 0; i < uploads.size(); ++i) {
    *uploads[i].place = places[i];
    accelerator.write(places[i], uploads[i].bytes);
  }
  return buffers;
}

}  // namespace hearth
