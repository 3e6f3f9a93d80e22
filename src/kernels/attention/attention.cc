#include "kernels/attention/attention.h"

#include "base/check.h"
#include "base/round_up.h"

namespace hearth {

const char* kv_type_name(KvType type) {
  switch (type) {
    case KvType::kF32:
      return "f32";
    case KvType::kF16:
      return "f16";
    case KvType::kBF16:
      return "bf16";
    case KvType::kQ8_0:
      return "q8_0";
  }
  HEARTH_CHECK(false, "not a KvType");
}

size_t kv_half_bytes(KvType type, uint32_t head_dim) {
  size_t elements = size_t{kPagePositions} * padded_head_dim(head_dim);
  switch (type) {
    case KvType::kF32:
      return elements * 4;
    case KvType::kF16:
    case KvType::kBF16:
      return elements * 2;
    case KvType::kQ8_0:
      return elements + size_t{kPagePositions} * kv_blocks(head_dim) * 2;
  }
  HEARTH_CHECK(false, "not a KvType");
}

size_t row_sums_floats(uint32_t rows, uint32_t head_dim) {
  return size_t{rows} * padded_head_dim(head_dim) + 2 * round_up<size_t>(rows, 16);
}

RowSums row_sums(float* base, uint32_t rows, uint32_t head_dim) {
  float* sum = base + size_t{rows} * padded_head_dim(head_dim);
  return {base, sum, sum + round_up<size_t>(rows, 16)};
}

}  // namespace hearth
