// Makes blocks for tests of types: bytes set by hand, or random ones whose scales are finite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

#include "base/fp_types.h"
#include "tensor/dtype.h"

namespace hearth {

// Holds the bytes of one block, all zero until set.
class TestBlock {
 public:
  explicit TestBlock(DType dtype)
      : dtype_(dtype),
        bytes_(dtype_info(dtype).block_bytes),
        values_(dtype_info(dtype).block_elements) {}

  TestBlock& f16(size_t offset, float value) {
    f16_t h = f32_to_f16(value);
    bytes_[offset] = static_cast<uint8_t>(h & 255);
    bytes_[offset + 1] = static_cast<uint8_t>(h >> 8);
    return *this;
  }
  TestBlock& set(size_t offset, std::initializer_list<int> bytes) {
    for (int byte : bytes) bytes_[offset++] = static_cast<uint8_t>(byte);
    return *this;
  }
  TestBlock& fill(size_t offset, size_t count, int byte) {
    for (size_t i = 0; i < count; ++i) bytes_[offset + i] = static_cast<uint8_t>(byte);
    return *this;
  }
  const std::vector<float>& values() {
    dequantize_row(dtype_, bytes_.data(), values_.size(), values_.data());
    return values_;
  }

 private:
  DType dtype_;
  std::vector<uint8_t> bytes_;
  std::vector<float> values_;
};

// Makes a scale of random bits finite by clearing bits of its exponent. E4M3 scales also lose their
// sign.
inline void make_finite(ScaleForm form, std::byte* at) {
  if (form == ScaleForm::kF16) at[1] &= std::byte{0xbf};
  if (form == ScaleForm::kE8M0) at[0] &= std::byte{0xdf};
  if (form == ScaleForm::kE4M3) at[0] &= std::byte{0x3f};
}

// Returns `bytes` random bytes, whole blocks. Scales are finite, of both signs, some zero or
// subnormal.
inline std::vector<std::byte> random_blocks(DType type, size_t bytes, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> blocks(bytes);
  for (std::byte& b : blocks) b = static_cast<std::byte>(random());
  const DTypeInfo& info = dtype_info(type);
  for (size_t at = 0; at < bytes; at += info.block_bytes) {
    for (const BlockScale& scale : info.scales) {
      make_finite(scale.form, &blocks[at + scale.offset]);
    }
    if (info.block_elements == 1) blocks[at + info.block_bytes - 1] &= std::byte{0xbf};
  }
  return blocks;
}

}  // namespace hearth
