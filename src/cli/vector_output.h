// Vectors written one by one, in order: JSON lines on standard output or rows of a .npy file.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "cli/text_io.h"

namespace hearth {

struct VectorRow {
  uint64_t index = 0;  // from 0 on
  std::string id;      // JSON; empty: none
  size_t tokens = 0;   // that were read of the text
  size_t whole = 0;    // that it had: more where it was cut
  std::span<const float> vector;
};

class VectorOutput {
 public:
  virtual ~VectorOutput() = default;
  void write(const VectorRow& row) {
    write_row(row);
    ++rows_;
  }
  // Skips a text that has no vector: its number stands in no line of JSON, and its row in a file is
  // NaN.
  void skip() {
    skip_row();
    ++rows_;
  }
  // Ends the output: what was written is whole and stays. A file is there from then on.
  virtual void end() {}
  // Written and skipped ones.
  uint64_t rows() const { return rows_; }

 private:
  virtual void write_row(const VectorRow& row) = 0;
  virtual void skip_row() {}

  uint64_t rows_ = 0;
};

// {"index":0,"id":"a","tokens":7,"embedding":[0.1,...]}; "id" where there is one, and
// "whole_tokens" where the text was cut. Numbers are the shortest that give the same float again.
std::string vector_json(const VectorRow& row);

std::unique_ptr<VectorOutput> json_vector_output();
// float32 [rows, columns]. Throws (kFile) where the file cannot be written, at once, and for what
// is no plain file: the header, which tells the number of rows, is written last.
std::unique_ptr<VectorOutput> npy_vector_output(const std::string& path, uint32_t columns);

}  // namespace hearth
