#include "hybrid/host_memory.h"

#include <algorithm>

#include "base/check.h"
#include "base/error.h"

namespace hearth {
namespace {

// Drivers tell 2 to 4 GiB; smaller pieces cost a few calls.
constexpr uint64_t kPieceBytes = uint64_t{1} << 30;

}  // namespace

HostMemory::HostMemory(Accelerator& accelerator, std::span<std::byte> memory)
    : base_(memory.data()), size_(memory.size()) {
  const uint64_t alignment = accelerator.facts().import_alignment;
  if (alignment == 0) {
    fail(ErrorCode::kUnsupported, "{} cannot copy from memory of the process where it lies",
         accelerator.facts().name);
  }
  const uint64_t most = std::min(kPieceBytes, accelerator.facts().allocation_bytes);
  piece_bytes_ = std::max(alignment, most / alignment * alignment);
  for (uint64_t begin = 0; begin < size_; begin += piece_bytes_) {
    const uint64_t bytes = std::min(piece_bytes_, size_ - begin);
    buffers_.push_back(accelerator.import(memory.subspan(begin, bytes)));
  }
}

std::vector<HostMemory::Piece> HostMemory::pieces(const std::byte* first, uint64_t bytes) const {
  HEARTH_CHECK(first >= base_ && first + bytes <= base_ + size_, "the bytes are of the memory");
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
