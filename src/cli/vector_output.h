// Writes vectors one by one, in order: as JSON lines on standard output, or as rows of a .npy file.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "cli/text_io.h"

namespace hearth {

struct VectorRow {
  uint64_t index = 0;  // from 0
  std::string id;      // JSON; empty: none
  size_t tokens = 0;   // tokens that were read of the text
  size_t whole = 0;    // tokens of the text; more where it was cut
  std::span<const float> vector;
};

class VectorOutput {
 public:
  virtual ~VectorOutput() = default;
  void write(const VectorRow& row) {
    write_row(row);
    ++rows_;
  }
  // Writes no vector for a text: there is no JSON line with its index, and its row in a file has
  // only NaN.
  void skip() {
    skip_row();
    ++rows_;
  }
  // Ends the output, which has only complete rows. A file appears only when this is called.
  virtual void end() {}
  // Returns the number of rows, written and skipped.
  uint64_t rows() const { return rows_; }

 private:
  virtual void write_row(const VectorRow& row) = 0;
  virtual void skip_row() {}

  uint64_t rows_ = 0;
};

// Returns {"index":0,"id":"a","tokens":7,"embedding":[0.1,...]}, with "id" where there is one, and
// "whole_tokens" where the text was cut. Numbers are the shortest that give the same float again.
std::string vector_json(const VectorRow& row);

std::unique_ptr<VectorOutput> json_vector_output();
// Returns an output to a file of float32 [rows, columns]. Throws (kFile) at once where the file
// cannot be written, or is not a plain file: the header, which has the number of rows, is written
// last.
std::unique_ptr<VectorOutput> npy_vector_output(const std::string& path, uint32_t columns);

}  // namespace hearth
