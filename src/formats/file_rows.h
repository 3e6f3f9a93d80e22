// FileRows reads rows of a tensor that stays in the model's file, one at a time, on demand. The
// object keeps a map of the file, through which it reads. So a table of embeddings that is larger
// than the rest of a model needs no memory except pages of the file, which the system may drop.
//
// Errors (kUnsupported): a tensor whose rows are not contiguous, or whose type is unknown. (kFile):
// the file cannot be opened any more, or is another one.
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
  // The source need not outlive the object, which copies the tensor if the source is in memory.
  FileRows(const ModelSource& source, const SourceTensor& tensor);

  uint64_t rows() const { return rows_; }
  uint64_t length() const { return length_; }
  // Writes a row's elements as floats. Thread-safe.
  void read(uint64_t row, float* out) const noexcept;
  // Throws (kFile) if the file was truncated or written to since it was opened: rows that were read
  // may be zeros, or another model's.
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
