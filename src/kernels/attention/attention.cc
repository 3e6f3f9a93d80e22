#include "kernels/attention/attention.h"

#include "base/enum_name.h"
#include "base/round_up.h"
#include "kernels/attention/latent.h"

namespace hearth {

const char* kv_type_name(KvType type) {
  return enum_name<KvType::kQ8_0>({"f32", "f16", "bf16", "q8_0"}, type);
}

ArithmeticUnit arithmetic_unit_for(KvType type, const ArithmeticUnitSet& units) {
  const bool codes = type == KvType::kQ8_0 && units[static_cast<size_t>(ArithmeticUnit::kInt16Dot)];
  return codes ? ArithmeticUnit::kInt16Dot : ArithmeticUnit::kF32Fma;
}

namespace {

size_t element_bytes(KvType type) {
  return type == KvType::kF32 ? 4 : type == KvType::kQ8_0 ? 1 : 2;
}

}  // namespace

size_t kv_half_bytes(KvType type, uint32_t length) {
  const size_t elements = element_bytes(type) * kPagePositions * padded_length(length);
  const bool scaled = type == KvType::kQ8_0;
  return elements + (scaled ? size_t{kPagePositions} * kv_blocks(length) * 2 : 0);
}

void prefetch_slot(KvType type, uint32_t key_length, uint32_t value_length, const KvPage& page,
                   uint32_t slot) {
  // A row of keys holds one element of all positions, or two with q8_0. A row of values holds one
  // position, or two with q8_0.
  const uint32_t paired = type == KvType::kQ8_0 ? 2 : 1;
  const size_t element = element_bytes(type) * paired, stride = padded_length(value_length);
  for (size_t row = 0; row < padded_length(key_length) / paired; ++row) {
    __builtin_prefetch(page.k + element * (kPagePositions * row + slot), 1);
  }
  for (size_t at = 0; at < element * stride; at += 64) {
    __builtin_prefetch(page.v + element * stride * (slot / paired) + at, 1);
  }
}

size_t row_sums_floats(uint32_t rows, uint32_t value_length) {
  return size_t{rows} * padded_length(value_length) + 2 * round_up<size_t>(rows, 16);
}

RowSums row_sums(float* base, uint32_t rows, uint32_t value_length) {
  float* sum = base + size_t{rows} * padded_length(value_length);
  return {base, sum, sum + round_up<size_t>(rows, 16)};
}

}  // namespace hearth
