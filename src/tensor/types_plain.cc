// The plain types: every element by itself.
#include <algorithm>
#include <cstring>

#include "base/fp_types.h"
#include "tensor/dtype.h"

namespace hearth {
namespace {

void copy_f32(const std::byte* row, size_t elements, float* out) {
  std::memcpy(out, row, elements * sizeof(float));
}

template <float convert(uint16_t)>
void widen_halves(const std::byte* row, size_t elements, float* out) {
  for (size_t i = 0; i < elements; ++i) {
    uint16_t half;
    std::memcpy(&half, row + 2 * i, sizeof half);
    out[i] = convert(half);
  }
}

void widen_e4m3(const std::byte* row, size_t elements, float* out) {
  const auto* codes = reinterpret_cast<const e4m3_t*>(row);
  std::transform(codes, codes + elements, out, e4m3_to_f32);
}

}  // namespace

constinit const DTypeInfo type_f32 = {.name = "f32",
                                      .gguf_type = 0,
                                      .block_elements = 1,
                                      .block_bytes = 4,
                                      .pack = PackKind::kF32,
                                      .widen = copy_f32};

constinit const DTypeInfo type_f16 = {.name = "f16",
                                      .gguf_type = 1,
                                      .block_elements = 1,
                                      .block_bytes = 2,
                                      .pack = PackKind::kF16,
                                      .widen = widen_halves<f16_to_f32>};

constinit const DTypeInfo type_bf16 = {.name = "bf16",
                                       .gguf_type = 30,
                                       .block_elements = 1,
                                       .block_bytes = 2,
                                       .pack = PackKind::kBF16,
                                       .widen = widen_halves<bf16_to_f32>};

constinit const DTypeInfo type_fp8 = {.name = "fp8",
                                      .block_elements = 1,
                                      .block_bytes = 1,
                                      .pack = PackKind::kFP8,
                                      .widen = widen_e4m3};

}  // namespace hearth
