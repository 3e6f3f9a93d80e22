// Importance matrices as llama-imatrix writes them ("imatrix"): for each column of a model's
// matrices the sum of the squares of the activations that it was multiplied with, over a text. An
// error of one element of a weight moves an output by the error times the activation. So the square
// of that error is weighted by its column's mean square when a row is quantised
// (tensor/quantize_row.h).
//
// Two forms are read. The newer form is a GGUF file: tensors NAME.in_sum2, F32 [columns, matrices],
// and NAME.counts, F32 [1, matrices], the tokens that each matrix of a tensor saw (a tensor of
// experts has one for each), and metadata imatrix.datasets and imatrix.chunk_count. The older form
// has int32 and float32, little endian:
//   the number of entries; for each: bytes of the name, name, calls, number of values, sums
//   the number of chunks, bytes of the dataset's name, that name; these may be missing
// In the older form an expert's sums are in proportion to the calls, however often the expert was
// used.
//
// Errors (kFile) name the file, the entry and the remedy: a form that is neither; lengths and
// counts that leave the file or contradict each other; sums and counts that are negative, infinite
// or no numbers; a name that stands twice; an entry that counted nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/mapped_file.h"
#include "formats/source_tensor.h"

namespace hearth {

// The entry of one tensor.
struct ImportanceEntry {
  std::string_view name;            // the tensor's name in GGUF
  std::span<const std::byte> sums;  // F32, not aligned: [matrices][columns]
  std::vector<float> counts;        // one for each matrix, or one for all

  uint64_t values() const { return sums.size() / sizeof(float); }
  // Returns whether the entry has a value for every column of every matrix of the tensor.
  bool fits(const SourceTensor& tensor) const;
  // Writes the weights of the columns of the matrix that contains `row` to out[dims[0]], in
  // proportion to their mean square; the entry must fit the tensor. All are 1 if nothing was
  // counted, as for an expert that no token chose. A column that was always 0 gets a millionth of
  // the average, so that a block of only such columns can be fitted.
  void write_weights(const SourceTensor& tensor, uint64_t row, float* out) const;
};

class Importance {
 public:
  static Importance open(const std::string& path);
  explicit Importance(MappedFile file);

  // Returns the path, or the name, of the file.
  const std::string& name() const { return file_.name(); }
  std::span<const ImportanceEntry> entries() const { return entries_; }  // sorted by name
  const ImportanceEntry* find(std::string_view tensor) const;            // or nullptr
  // Return the name of the text that the matrix was made with, and its number of chunks; empty and
  // 0 if the file does not say.
  const std::string& dataset() const { return dataset_; }
  int32_t chunks() const { return chunks_; }
  // Throws (kFile) if the file was changed since it was opened.
  void require_whole() const { file_.require_whole(); }

 private:
  void read_gguf();
  void read_older();
  void check_entries();

  MappedFile file_;
  std::string dataset_;
  int32_t chunks_ = 0;
  std::vector<ImportanceEntry> entries_;  // their spans point into the file
};

}  // namespace hearth
