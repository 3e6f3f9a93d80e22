#include <algorithm>
#include <cstring>

#include "base/fp_types.h"
#include "tensor/code_block.h"
#include "tensor/dtype.h"

namespace hearth {
namespace {

template <typename Convert>
void widen(const void* row, size_t elements, float* out, Convert convert) {
  const auto* bytes = static_cast<const std::byte*>(row);
  for (size_t i = 0; i < elements; ++i) {
    uint16_t half;
    std::memcpy(&half, bytes + 2 * i, sizeof half);
    out[i] = convert(half);
  }
}

}  // namespace

void dequantize_row(DType dtype, const void* row, size_t elements, float* out) {
  const size_t bytes = row_bytes(dtype, elements);
  if (dtype == DType::kF32) {
    std::memcpy(out, row, bytes);
  } else if (dtype == DType::kF16) {
    widen(row, elements, out, f16_to_f32);
  } else if (dtype == DType::kBF16) {
    widen(row, elements, out, bf16_to_f32);
  } else if (dtype == DType::kF8E4M3) {
    const auto* codes = static_cast<const e4m3_t*>(row);
    std::transform(codes, codes + elements, out, e4m3_to_f32);
  } else {
    const DTypeInfo& info = dtype_info(dtype);
    const auto* block = static_cast<const std::byte*>(row);
    const std::byte* end = block + bytes;
    for (; block < end; block += info.block_bytes) {
      for (uint32_t part = 0; part < info.block_elements / kBlock; ++part, out += kBlock) {
        code_block_values(decode_block(dtype, block, part), out);
      }
    }
  }
}

}  // namespace hearth
