// SafePieces: which bytes of a file that is fetched in pieces are safe in its part file, kept
// beside it, so that a process that was killed goes on where it was. A piece is safe from its
// beginning on up to `done` bytes, a multiple of BlockSum::kStep but at the piece's end, of which
// the sum is kept too (store/file_digest.h). Pieces are larger than asked for where a file would
// have more than a record holds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/file_digest.h"

namespace hearth {

struct SafePiece {
  uint64_t begin = 0, size = 0;
  uint64_t done = 0;
  uint64_t sum = BlockSum().value();

  bool whole() const { return done == size; }
};

struct SafePieces {
  uint64_t size = 0, piece = 0;  // of the file and of its pieces but the last
  // Bytes at the file's beginning that come from another program: nobody saw them come.
  uint64_t adopted = 0;
  std::vector<SafePiece> pieces;

  // Returns the pieces of a file of which none is safe.
  static SafePieces of(uint64_t size, uint64_t piece);
  // Reads the record of a file of that size; no piece is safe where it says nothing that fits.
  static SafePieces read(const std::string& path, uint64_t size, uint64_t piece);
  // Errors (kFile).
  void write(const std::string& path) const;

  uint64_t done() const;
  // How much of the file is safe from its beginning on without a gap.
  uint64_t prefix() const;
};

}  // namespace hearth
