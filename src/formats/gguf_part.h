// Reads one GGUF file (one part of a split model) without trusting its contents. Every count,
// length and offset is checked against the file's size before it is used, so the reader takes at
// most a small multiple of the file's size as memory, and touches no byte outside the file. Errors
// (kFile): one sentence with the file, the field, what is wrong with it, and the remedy.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "formats/mapped_file.h"
#include "formats/metadata.h"
#include "formats/source_tensor.h"

namespace hearth {

struct GgufPart {
  MappedFile file;
  uint32_t version;
  uint64_t alignment;
  Metadata metadata;
  std::vector<SourceTensor> tensors;
};

GgufPart read_gguf_part(MappedFile file, uint32_t part_index, UnknownTypes unknown);

}  // namespace hearth
