// A CodeBlock holds 32 consecutive elements of a quantised row in a form that fits every block
// type: 8-bit codes with a scale and a minimum per half of 16. Nothing is lost: scales and minima
// are products of a binary16 and an integer of at most 6 bits (7 and a sign in Q6_K), which
// binary32 holds exactly, and so is scale * code; only the sum with the minimum rounds.
//
// A type's decoding fills one from a block of a file, a kind's unpacking from a pack. `stored`
// holds what the scales and minima are made of, which packs keep instead of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/fp_types.h"
#include "tensor/pack_kind.h"

namespace hearth {

inline constexpr uint8_t kCodeZero = 128;

// The scales of 32 elements as a file has them: binary16 numbers of the block or super-block, and
// of each half what these are multiplied with. `scale` also holds the bytes of E8M0 and E4M3.
struct StoredScales {
  f16_t d, dmin;
  int8_t scale[2], min[2];
};

// Element j is scale[j / 16] * (codes[j] - kCodeZero) + min[j / 16].
struct CodeBlock {
  uint8_t codes[kBlock];
  float scale[2];
  float min[2];
  StoredScales stored;  // of a type's decoding alone
};

// Sets the scale and the minimum of both halves.
inline void set_scale(CodeBlock& block, float scale, float min) {
  block.scale[0] = block.scale[1] = scale;
  block.min[0] = block.min[1] = min;
}

// Writes the elements to out[32].
inline void code_block_values(const CodeBlock& block, float* out) {
  for (size_t h = 0; h < 2; ++h) {
    for (size_t i = 16 * h; i < 16 * h + 16; ++i) {
      out[i] = block.scale[h] * static_cast<float>(block.codes[i] - kCodeZero) + block.min[h];
    }
  }
}

inline uint8_t byte_at(const std::byte* p, size_t i) { return std::to_integer<uint8_t>(p[i]); }

// Returns the number at index `index` of an array of T at `p`, which need not be aligned.
template <typename T>
inline T read_at(const std::byte* p, size_t index) {
  T value;
  std::memcpy(&value, p + index * sizeof(T), sizeof(T));
  return value;
}

// Returns the binary16 number `offset` bytes behind `p`.
inline float f16_at(const std::byte* p, size_t offset) {
  return f16_to_f32(read_at<f16_t>(p + offset, 0));
}

// Holds N bytes by value: loops over them vectorise; loops over bytes that may alias the codes
// don't.
template <size_t N>
struct BlockBytes {
  uint8_t at[N];
  explicit BlockBytes(const std::byte* p) { std::memcpy(at, p, N); }
  uint8_t operator[](size_t i) const { return at[i]; }
};

// Holds the scale and the minimum of block `part` of a Q4_K or Q5_K super-block, from its 12 bytes
// of 6-bit numbers.
struct ScaleMin6 {
  uint8_t scale, min;
};
inline ScaleMin6 scale_min_6(const std::byte* packed, uint32_t part) {
  auto byte = [&](uint32_t i) { return std::to_integer<uint32_t>(packed[i]); };
  if (part < 4) {
    return {static_cast<uint8_t>(byte(part) & 63), static_cast<uint8_t>(byte(part + 4) & 63)};
  }
  return {static_cast<uint8_t>((byte(part + 4) & 15) | (byte(part - 4) >> 6 << 4)),
          static_cast<uint8_t>((byte(part + 4) >> 4) | (byte(part) >> 6 << 4))};
}

}  // namespace hearth
