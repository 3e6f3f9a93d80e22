// Rows of a tensor that stay in the model's file: they are read one at a time, when they are
// wanted, through a map of the file that the object keeps. A table that is larger than the rest of
// a model and read a row a token costs no memory so, but for pages of the file that the system may
// drop.
//
// Errors (kUnsupported): a tensor whose rows do not lie in one piece, as a type that is known.
// (kFile): the file cannot be opened any more, or is another one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "formats/mapped_file.h"
#include "formats/model_source.h"

namespace hearth {

class FileRows {
 public:
  // The source need not outlive it. Of a source in memory it keeps a copy.
  FileRows(const ModelSource& source, const SourceTensor& tensor);

  uint64_t rows() const { return rows_; }
  uint64_t length() const { return length_; }
  // Writes a row's elements. From any thread.
  void read(uint64_t row, float* out) const noexcept;
  // Throws (kFile) where the file was cut short or written to since: rows that were read may be
  // zeros, or another model's.
  void require_whole() const;

 private:
  DType dtype_;
  uint64_t rows_, length_;
  size_t row_bytes_;
  std::optional<MappedFile> file_;
  std::vector<std::byte> copy_;
  std::span<const std::byte> bytes_;
};

}  // namespace hearth
