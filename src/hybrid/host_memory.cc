#include "hybrid/host_memory.h"

#include <algorithm>

#include "base/check.h"
#include "base/error.h"

namespace hearth {
namespace {

// Many drivers import at most 2 to 4 GiB in one piece. Smaller pieces cost only a few more calls.
constexpr uint64_t kPieceBytes = uint64_t{1} << 30;

}  // namespace

HostMemory::HostMemory(Accelerator& accelerator, std::span<std::byte> memory)
    : base_(memory.data()) {
  const uint64_t alignment = accelerator.facts().import_alignment;
  if (alignment == 0) {
    why_not_all_ = accelerator.facts().name + " cannot import memory of the process";
    return;
  }
  const uint64_t most = std::min(kPieceBytes, accelerator.facts().allocation_bytes);
  piece_bytes_ = std::max(alignment, most / alignment * alignment);
  try {
    while (size_ < memory.size()) {
      const uint64_t bytes = std::min(piece_bytes_, memory.size() - size_);
      buffers_.push_back(accelerator.import(memory.subspan(size_, bytes)));
      size_ += bytes;
    }
  } catch (const Error& error) {
    why_not_all_ = error.what();
  }
}

bool HostMemory::holds(const std::byte* first, uint64_t bytes) const {
  return first >= base_ && first + bytes <= base_ + size_;
}

std::vector<HostMemory::Piece> HostMemory::pieces(const std::byte* first, uint64_t bytes) const {
  HEARTH_CHECK(holds(first, bytes), "the bytes are imported");
  std::vector<Piece> pieces;
  for (auto at = static_cast<uint64_t>(first - base_); bytes > 0;) {
    const uint64_t inside = at % piece_bytes_;
    const uint64_t count = std::min(bytes, piece_bytes_ - inside);
    pieces.push_back({buffers_[at / piece_bytes_].at(inside), count});
    at += count;
    bytes -= count;
  }
  return pieces;
}

}  // namespace hearth
