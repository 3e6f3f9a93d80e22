// Reads the JSON of a safetensors header as a stream of tokens: no tree is built of what may be
// 100 MB.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/safetensors.h"

namespace hearth {

// Tensors in the header's order, with `offset` counted from the beginning of the data; elements are
// not counted yet. `name` is the file's, for messages. Errors: kFile.
std::vector<SafeTensor> parse_safetensors_header(std::string_view json, const std::string& name);

}  // namespace hearth
