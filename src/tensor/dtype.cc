#include "tensor/dtype.h"

#include "base/check.h"
#include "tensor/code_block.h"

namespace hearth {
namespace {

#define HEARTH_TYPE(dtype, name) DType::dtype,
constexpr DType kDTypes[] = {HEARTH_DTYPES(HEARTH_TYPE)};
#undef HEARTH_TYPE

#define HEARTH_ROW(dtype, name) &type_##name,
constexpr const DTypeInfo* kDTypeRows[] = {HEARTH_DTYPES(HEARTH_ROW)};
#undef HEARTH_ROW

}  // namespace

std::span<const DType> all_dtypes() { return kDTypes; }

const DTypeInfo& dtype_info(DType dtype) { return *kDTypeRows[static_cast<size_t>(dtype)]; }

size_t row_bytes(DType dtype, size_t elements) {
  const DTypeInfo& info = dtype_info(dtype);
  HEARTH_CHECK(elements % info.block_elements == 0, "a row holds whole blocks");
  return elements / info.block_elements * info.block_bytes;
}

void dequantize_row(DType dtype, const void* row, size_t elements, float* out) {
  const DTypeInfo& info = dtype_info(dtype);
  const auto* block = static_cast<const std::byte*>(row);
  const std::byte* end = block + row_bytes(dtype, elements);
  if (info.widen != nullptr) return info.widen(block, elements, out);
  for (; block < end; block += info.block_bytes) {
    for (uint32_t part = 0; part < info.block_elements / kBlock; ++part, out += kBlock) {
      CodeBlock decoded;
      info.decode(block, part, decoded);
      code_block_values(decoded, out);
    }
  }
}

}  // namespace hearth
