// How a model is split over several GGUF files: the keys split.no, split.count and
// split.tensors.count in every part, and names ending in -00001-of-00003.gguf.
// Errors (kFile) name the part and the remedy.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "formats/gguf_part.h"
#include "formats/metadata.h"

namespace hearth {

// Returns the number of parts of the model that file `name` belongs to, by its metadata: 1 if it is
// not split.
uint32_t gguf_part_count(const Metadata& metadata, const std::string& name);

// Returns the path of part `index` (from 0) of `count`, given the path of the first. Throws if
// `first` does not end as a first part's name does.
std::string gguf_part_path(const std::string& first, uint32_t index, uint32_t count);

// Throws unless `parts` are all parts of one model, in order.
void check_gguf_parts(std::span<const GgufPart> parts);

}  // namespace hearth
