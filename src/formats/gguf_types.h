// Maps the tensor type numbers of the GGUF format (versions 2 and 3) to DType:
// https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tensor/dtype.h"

namespace hearth {

inline constexpr uint32_t kGgufDefaultAlignment = 32;
inline constexpr size_t kGgufMaxDims = 4;

// Returns the types that this program reads from GGUF files, in the order of DType.
std::vector<DType> gguf_dtypes();
// Returns the DType of a type number in a file (ggml_type); none if this program does not read it.
std::optional<DType> dtype_of_gguf(uint32_t gguf_type);
// Returns the type number of a DType that gguf_dtypes() has.
uint32_t gguf_type_of(DType dtype);
struct GgufBlock {
  uint32_t elements = 0, bytes = 0;
};
// Returns the block size of a type number, whether this program reads it or not; none if it is
// unknown.
std::optional<GgufBlock> gguf_block(uint32_t gguf_type);
// Returns the name of a type number, whether this program reads it or not: "q4_0", "q8_k (type
// 15)", "type 99".
std::string gguf_tensor_type_text(uint32_t gguf_type);
// Returns a sentence that says why a tensor of a type that this program does not read is refused,
// and what to do; its subject is "it".
std::string gguf_refusal(uint32_t gguf_type);

}  // namespace hearth
