// Lists the element types of tensors in files. Each type has a DTypeInfo, which stands beside its
// block layout and its decoding in tensor/types_*.cc, and one line in HEARTH_DTYPES. All other code
// looks types up here (GGUF's numbers, packs, benchmarks, tests).
//
// A quantised type stores blocks of `block_elements` consecutive elements of a row in
// `block_bytes`. The layouts are those of the GGUF/ggml specification, save for kF8E4M3, which no
// GGUF file has: one-byte E4M3 codes (base/fp_types.h). Their scales, one for each 128 x 128 codes,
// are a tensor of their own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "tensor/pack_kind.h"

namespace hearth {

// X(enumerator, name) for each type, whose DTypeInfo is type_<name>.
#define HEARTH_DTYPES(X) \
  X(kF32, f32)           \
  X(kF16, f16)           \
  X(kBF16, bf16)         \
  X(kQ4_0, q4_0)         \
  X(kQ4_1, q4_1)         \
  X(kQ5_0, q5_0)         \
  X(kQ5_1, q5_1)         \
  X(kQ8_0, q8_0)         \
  X(kQ2_K, q2_k)         \
  X(kQ3_K, q3_k)         \
  X(kQ4_K, q4_k)         \
  X(kQ5_K, q5_k)         \
  X(kQ6_K, q6_k)         \
  X(kIQ4_NL, iq4_nl)     \
  X(kMXFP4, mxfp4)       \
  X(kNVFP4, nvfp4)       \
  X(kIQ1_S, iq1_s)       \
  X(kIQ1_M, iq1_m)       \
  X(kIQ2_XXS, iq2_xxs)   \
  X(kIQ2_XS, iq2_xs)     \
  X(kIQ2_S, iq2_s)       \
  X(kIQ3_XXS, iq3_xxs)   \
  X(kIQ3_S, iq3_s)       \
  X(kIQ4_XS, iq4_xs)     \
  X(kTQ1_0, tq1_0)       \
  X(kTQ2_0, tq2_0)       \
  X(kQ1_0, q1_0)         \
  X(kQ2_0, q2_0)         \
  X(kF8E4M3, fp8)

#define HEARTH_ENUMERATOR(dtype, name) dtype,
enum class DType : uint8_t { HEARTH_DTYPES(HEARTH_ENUMERATOR) };
#undef HEARTH_ENUMERATOR

// The form and the place of one of the scales and minima of a block. If all of these are multiplied
// by a number, so are all values of the block.
struct BlockScale {
  ScaleForm form = ScaleForm::kNone;
  uint32_t offset = 0;  // bytes
};

inline constexpr uint32_t kNoGgufType = UINT32_MAX;

struct DTypeInfo {
  std::string_view name;             // "q4_0", as llama.cpp's tools print it, in lower case
  uint32_t gguf_type = kNoGgufType;  // the type's number in GGUF files (ggml_type)
  uint32_t block_elements;           // 1 for the plain types, else a multiple of kBlock
  uint32_t block_bytes;
  PackKind pack;
  PackForm form = {};
  std::array<BlockScale, 4> scales = {};  // of a block; kNone beyond the last
  // Writes the elements to out[elements]. The plain types have `widen`, all other types have
  // `decode`.
  void (*widen)(const std::byte* row, size_t elements, float* out) = nullptr;
  // Decodes elements [32 part, 32 part + 32) of a block; `out` is overwritten.
  void (*decode)(const std::byte* block, uint32_t part, CodeBlock& out) = nullptr;
};

// Returns all types, in the order of the enum.
std::span<const DType> all_dtypes();
const DTypeInfo& dtype_info(DType dtype);

// Returns the bytes of one row of `elements`, which must be a multiple of the block size.
size_t row_bytes(DType dtype, size_t elements);

// Dequantises one row of `elements` in the file's layout to `out[elements]`. This is the reference
// that packs and kernels are tested against, and the loader of small tensors (norms, biases).
// kF8E4M3 gives the values of the codes, without scales.
void dequantize_row(DType dtype, const void* row, size_t elements, float* out);

#define HEARTH_DECLARE_TYPE(dtype, name) extern const DTypeInfo type_##name;
HEARTH_DTYPES(HEARTH_DECLARE_TYPE)
#undef HEARTH_DECLARE_TYPE

}  // namespace hearth
