// A tensor as a model's files hold it: a name by GGUF's convention ("blk.0.attn_q.weight"), a type,
// a shape and the bytes, as views into the files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/dtype.h"

namespace hearth {

struct SourceTensor {
  std::string_view name;  // in the file's bytes
  DType dtype;            // only where type_known
  bool type_known;        // false only with UnknownTypes::kKeep
  std::string type_text;  // "q4_0", or as the file tells of a type that this program cannot read
  // In the file's order: dims[0] is the length of a row, contiguous in memory. 1 to 4, none zero.
  std::vector<uint64_t> dims;
  uint64_t n_elements;
  // Rows of row_bytes(dtype, dims[0]) one after the other, aligned to 8 bytes at least; empty where
  // the type is not known.
  std::span<const std::byte> data;
  uint32_t part;    // index of the file, 0 where there is one
  uint64_t offset;  // of `data` in that file

  uint64_t n_bytes() const { return data.size(); }
  uint64_t rows() const { return n_elements / dims[0]; }
};

// Whether a tensor of a type that this program cannot read is an error or kept without its data.
enum class UnknownTypes { kRefuse, kKeep };

}  // namespace hearth
