#include "tensor/dtype.h"

#include <array>

#include "base/check.h"

namespace hearth {
namespace {

constexpr std::array<DTypeInfo, 16> kInfos = {{
    {DType::kF32, "f32", 1, 4},
    {DType::kF16, "f16", 1, 2},
    {DType::kBF16, "bf16", 1, 2},
    {DType::kQ4_0, "q4_0", 32, 18},
    {DType::kQ4_1, "q4_1", 32, 20},
    {DType::kQ5_0, "q5_0", 32, 22},
    {DType::kQ5_1, "q5_1", 32, 24},
    {DType::kQ8_0, "q8_0", 32, 34},
    {DType::kQ2_K, "q2_k", 256, 84},
    {DType::kQ3_K, "q3_k", 256, 110},
    {DType::kQ4_K, "q4_k", 256, 144},
    {DType::kQ5_K, "q5_k", 256, 176},
    {DType::kQ6_K, "q6_k", 256, 210},
    {DType::kIQ4_NL, "iq4_nl", 32, 18},
    {DType::kMXFP4, "mxfp4", 32, 17},
    {DType::kF8E4M3, "fp8", 1, 1},
}};

}  // namespace

std::span<const DTypeInfo> all_dtypes() { return kInfos; }

const DTypeInfo& dtype_info(DType dtype) {
  const DTypeInfo& info = kInfos[static_cast<size_t>(dtype)];
  HEARTH_CHECK(info.dtype == dtype, "the table follows the enum");
  return info;
}

size_t row_bytes(DType dtype, size_t elements) {
  const DTypeInfo& info = dtype_info(dtype);
  HEARTH_CHECK(elements % info.block_elements == 0, "a row holds whole blocks");
  return elements / info.block_elements * info.block_bytes;
}

}  // namespace hearth
