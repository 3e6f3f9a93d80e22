// The numbers of the GGUF format (versions 2 and 3):
// https://github.com/ggml-org/ggml/blob/master/docs/gguf.md Everything in a file is little endian
// and unaligned until the tensor data.
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

// The types that this program reads from GGUF files, in the order of DType.
std::vector<DType> gguf_dtypes();
// Returns the type of that number in a file (ggml_type), where this program reads it.
std::optional<DType> dtype_of_gguf(uint32_t gguf_type);
// The number of one of these.
uint32_t gguf_type_of(DType dtype);
struct GgufBlock {
  uint32_t elements = 0, bytes = 0;
};
// The block of a type, whether this program reads it or not; none where that is not known.
std::optional<GgufBlock> gguf_block(uint32_t gguf_type);
// The name of a tensor type, whether this program reads it or not: "q4_0", "q8_k (type 15)",
// "type 99".
std::string gguf_tensor_type_text(uint32_t gguf_type);
// Says why a tensor of a type that cannot be read is refused, and what to do: a sentence about
// "it".
std::string gguf_refusal(uint32_t gguf_type);

}  // namespace hearth
