// Reads the header of a safetensors file. The file has 8 bytes with the header's length (little
// endian), then JSON that gives each tensor a type, a shape and a range of the data, then the data:
// https://github.com/huggingface/safetensors#format
//
// A file is hostile until proven otherwise. These functions check all of it but the tensors'
// contents: the length of the header (100 MB at most), its JSON, names that stand twice, types, and
// that ranges fit their shapes, do not overlap, leave no holes and end with the file. Memory stays
// within a small multiple of the header. Errors (kFile): one sentence with the file, the tensor,
// what is wrong with it, and the remedy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/mapped_file.h"
#include "tensor/dtype.h"

namespace hearth {

struct SafeTensor {
  std::string name;
  std::string_view type;        // "BF16"
  std::optional<DType> dtype;   // none if this program does not read the type
  std::vector<uint64_t> shape;  // the last is the length of a row, contiguous in memory
  uint64_t elements = 0;
  uint64_t offset = 0, bytes = 0;  // the place of the data in the file
};

// Returns the file's tensors in the order of their data.
std::vector<SafeTensor> read_safetensors(const MappedFile& file);

// Returns whether bytes look like a file of this format, judged by the first 9.
bool looks_like_safetensors(std::span<const std::byte> bytes);

}  // namespace hearth
