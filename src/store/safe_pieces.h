// SafePieces: which bytes of a file fetched in pieces are safe in its part file. The record is kept
// in a file beside it, so that a later process can continue the fetch. Of each piece the first
// `done` bytes are safe (a multiple of BlockSum::kStep, or the whole piece), and their BlockSum is
// kept (store/file_digest.h). If the file would have more pieces than a record can hold, pieces are
// larger than asked for.
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
  uint64_t size = 0, piece = 0;  // of the file; of each piece but the last
  // Bytes at the file's beginning that another program fetched: they may be wrong.
  uint64_t adopted = 0;
  std::vector<SafePiece> pieces;

  // Returns the pieces of a file, none of them safe yet.
  static SafePieces of(uint64_t size, uint64_t piece);
  // Reads the record of a file of this size; where the record is missing or does not fit, no piece
  // is safe.
  static SafePieces read(const std::string& path, uint64_t size, uint64_t piece);
  // Writes the record. Errors (kFile).
  void write(const std::string& path) const;

  uint64_t done() const;
  // Returns how many bytes at the file's beginning are safe without a gap.
  uint64_t prefix() const;
};

}  // namespace hearth
