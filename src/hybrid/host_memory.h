// Imported memory of the process, so that an accelerator copies from and to it directly. It is
// imported from its first byte on, in pieces as long as the driver accepts. If the driver refuses a
// piece, this and all later bytes are not imported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "accelerator/accelerator.h"

namespace hearth {

class HostMemory {
 public:
  // The memory must outlive this object. It must begin and end at multiples of
  // facts().import_alignment.
  HostMemory(Accelerator& accelerator, std::span<std::byte> memory);

  // Says why some of the memory is not imported; empty: all of it is.
  const std::string& why_not_all() const { return why_not_all_; }
  // Returns whether these bytes of the memory are imported.
  bool holds(const std::byte* first, uint64_t bytes) const;

  struct Piece {
    Place at;
    uint64_t bytes;
  };
  // Returns the places of `bytes` bytes from `first` on, in ascending order. holds(first, bytes)
  // must be true.
  std::vector<Piece> pieces(const std::byte* first, uint64_t bytes) const;

 private:
  const std::byte* base_;
  uint64_t size_ = 0;  // bytes imported, from base_ on
  uint64_t piece_bytes_ = 0;
  std::vector<Buffer> buffers_;  // piece_bytes_ each; the last one may be shorter
  std::string why_not_all_;
};

}  // namespace hearth
