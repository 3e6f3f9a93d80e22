// Lists the element types of tensors in files with their block sizes and bytes. A quantised type
// stores blocks of `block_elements` consecutive elements of a row in `block_bytes`. The layouts are
// those of the GGUF/ggml specification, save for kF8E4M3, which no GGUF file has: codes of one byte
// (base/fp_types.h), whose scales, one for 128 x 128 of them, are a tensor of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace hearth {

enum class DType : uint8_t {
  kF32,
  kF16,
  kBF16,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ2_K,
  kQ3_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kIQ4_NL,
  kMXFP4,
  kF8E4M3,
};

struct DTypeInfo {
  DType dtype;
  std::string_view name;    // "q4_0", as llama.cpp's tools print it, in lower case
  uint32_t block_elements;  // 1 for the plain types
  uint32_t block_bytes;
};

// Returns all types, in the order of the enum.
std::span<const DTypeInfo> all_dtypes();
const DTypeInfo& dtype_info(DType dtype);

// Returns the bytes of one row of `elements`, which must be a multiple of the block size.
size_t row_bytes(DType dtype, size_t elements);

// Dequantises one row of `elements` in the file's layout to `out[elements]`: the reference that
// packs and kernels are tested against, and the loader of small tensors (norms, biases). kF8E4M3
// gives the values of the codes, without scales.
void dequantize_row(DType dtype, const void* row, size_t elements, float* out);

}  // namespace hearth
