// Reads the JSON of a safetensors header, which may be 100 MB, as a stream of tokens without a
// tree.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/safetensors.h"

namespace hearth {

// Returns tensors in the header's order, with `offset` counted from the beginning of the data, and
// `bytes` still the end of the range; elements are not counted yet. `name` is the file's, for
// messages. Errors: kFile.
std::vector<SafeTensor> parse_safetensors_header(std::string_view json, const std::string& name);

}  // namespace hearth
