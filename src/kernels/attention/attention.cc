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

namespace {

size_t element_bytes(KvType type) {
  switch (type) {
    case KvType::kF32:
      return 4;
    case KvType::kF16:
    case KvType::kBF16:
      return 2;
    case KvType::kQ8_0:
      return 1;
  }
  HEARTH_CHECK(false, "not a KvType");
}

}  // namespace

size_t kv_half_bytes(KvType type, uint32_t head_dim) {
  const size_t elements = element_bytes(type) * kPagePositions * padded_head_dim(head_dim);
  const bool scaled = type == KvType::kQ8_0;
  return elements + (scaled ? size_t{kPagePositions} * kv_blocks(head_dim) * 2 : 0);
}

void prefetch_slot(KvType type, uint32_t head_dim, const KvPage& page, uint32_t slot) {
  const size_t element = element_bytes(type), value_bytes = element * padded_head_dim(head_dim);
  for (size_t d = 0; d < padded_head_dim(head_dim); ++d) {
    __builtin_prefetch(page.k + element * (kPagePositions * d + slot), 1);
  }
  for (size_t at = 0; at < value_bytes; at += 64) {
    __builtin_prefetch(page.v + value_bytes * slot + at, 1);
  }
}

size_t row_sums_floats(uint32_t rows, uint32_t head_dim) {
  return size_t{rows} * padded_head_dim(head_dim) + 2 * round_up<size_t>(rows, 16);
}

RowSums row_sums(float* base, uint32_t rows, uint32_t head_dim) {
  float* sum = base + size_t{rows} * padded_head_dim(head_dim);
  return {base, sum, sum + round_up<size_t>(rows, 16)};
}

}  // namespace hearth
