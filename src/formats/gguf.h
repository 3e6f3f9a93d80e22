// GGUF model files, version 2 and 3, little endian, in one file or split into several
// (`name-00001-of-00003.gguf`): https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
//
// Opening the first part of a split model opens all of them; the metadata is the first part's, the
// tensors are those of all parts.
//
// A file is hostile until proven otherwise: these functions check all of it but the tensors'
// contents, and throw hearth::Error (kFile) with the file, the field, and the remedy. They check
// sizes and offsets (inside the file, aligned, not overlapping), types and counts. They also check
// that no name stands twice, and that the parts of a split model fit each other.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "formats/model_source.h"

namespace hearth {

ModelSource open_gguf(const std::string& path, UnknownTypes unknown = UnknownTypes::kRefuse);

// Parses bytes in memory. The bytes of a span must outlive the source; a moved vector is kept by
// the source. `name` is for messages. If the bytes begin at a multiple of 8, so does the data of
// each tensor.
ModelSource parse_gguf(std::span<const std::byte> bytes, std::string name,
                       UnknownTypes unknown = UnknownTypes::kRefuse);
ModelSource parse_gguf(std::vector<std::byte>&& bytes, std::string name,
                       UnknownTypes unknown = UnknownTypes::kRefuse);
// Parses all parts of a split model, in order.
ModelSource parse_gguf(std::vector<MappedFile> files, UnknownTypes unknown = UnknownTypes::kRefuse);

}  // namespace hearth
