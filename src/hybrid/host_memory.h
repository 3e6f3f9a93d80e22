// Memory of the process that an accelerator copies from and to where it lies, imported in pieces as
// large as its driver takes, and as many of them, from the first one on.
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
  // The memory outlives this, and begins and ends at multiples of facts().import_alignment.
  HostMemory(Accelerator& accelerator, std::span<std::byte> memory);

  // Says why some of it is not imported; empty: all is.
  const std::string& why_not_all() const { return why_not_all_; }
  // Returns whether these bytes of the memory are imported.
  bool holds(const std::byte* first, uint64_t bytes) const;

  struct Piece {
    Place at;
    uint64_t bytes;
  };
  // Returns the places of so many bytes from `first` on, in their order; holds() must be true of
  // them.
  std::vector<Piece> pieces(const std::byte* first, uint64_t bytes) const;

 private:
  const std::byte* base_;
  uint64_t size_ = 0;  // bytes imported, from base_ on
  uint64_t piece_bytes_ = 0;
  std::vector<Buffer> buffers_;  // of piece_bytes_, the last of what is left
  std::string why_not_all_;
};

}  // namespace hearth
