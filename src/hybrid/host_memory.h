// Memory of the process that an accelerator copies from and to where it lies, imported in pieces as
// large as its driver takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "accelerator/accelerator.h"

namespace hearth {

class HostMemory {
 public:
  // The memory outlives this, and begins and ends at multiples of facts().import_alignment. Throws
  // what Accelerator::import() throws.
  HostMemory(Accelerator& accelerator, std::span<std::byte> memory);

  struct Piece {
    Place at;
    uint64_t bytes;
  };
  // Where so many bytes from `first` on lie, in their order. They are of the memory.
  std::vector<Piece> pieces(const std::byte* first, uint64_t bytes) const;

 private:
  const std::byte* base_;
  uint64_t size_, piece_bytes_;
  std::vector<Buffer> buffers_;  // of piece_bytes_, the last of what is left
};

}  // namespace hearth
