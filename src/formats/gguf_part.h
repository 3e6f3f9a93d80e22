// Reads one GGUF file, trusting nothing in it: the half of GgufFile (gguf.h) that knows the bytes.
// Every count, length and offset is held against the file's size before it is used, so memory stays
// within a small multiple of the file's and no byte outside it is touched.
// Errors (kFile): one sentence with the file, the field, what is wrong with it, and the remedy.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "formats/gguf_metadata.h"
#include "formats/mapped_file.h"
#include "tensor/dtype.h"

namespace hearth {

struct GgufTensor {
  std::string_view name;  // in the file's bytes
  DType dtype;            // only where type_known
  bool type_known;        // false only with GgufUnknownTypes::kKeep
  uint32_t gguf_type;     // the number in the file
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
enum class GgufUnknownTypes { kRefuse, kKeep };

struct GgufPart {
  MappedFile file;
  uint32_t version;
  uint64_t alignment;
  GgufMetadata metadata;
  std::vector<GgufTensor> tensors;
};

GgufPart read_gguf_part(MappedFile file, uint32_t part_index, GgufUnknownTypes unknown);

}  // namespace hearth
