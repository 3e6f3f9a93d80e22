// A CodeBlock holds 32 consecutive elements of a quantised row in a form that fits every block
// type: 8-bit codes with a scale and a minimum per half of 16. The form is exact, since binary32
// holds all scales, minima and products scale * code: they are binary16 or bfloat16, powers of two
// (E8M0), or products of binary16 or E4M3 with an integer of at most 7 bits and a sign. Only two
// operations round: the sum with a minimum, and the product of E4M3 with the scale of a whole
// matrix (kL4H).
//
// The decoding of a type fills a CodeBlock from a block of a file, and the unpacking of a pack kind
// fills it from a pack. `stored` holds the numbers of the file from which the scales and minima are
// computed; packs keep these numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/fp_types.h"
#include "tensor/pack_kind.h"

namespace hearth {

inline constexpr uint8_t kCodeZero = 128;

// The scales of 32 elements as a file has them: binary16 numbers of the block or super-block, and
// for each half the numbers that multiply these. `scale` also holds the bytes of E8M0 and E4M3, and
// `min` the bytes of zero points. `d` may hold a bf16, and `wide` an f32 scale. Members that a type
// does not use are left unchanged.
//
//   Q4_1, Q5_1                      d; dmin is m
//   Q5_0, IQ4_NL, TQ*, Q1_0, Q2_0   d
//   MXFP4, NVFP4                    scale: the byte
//   Q2_K                            d, dmin, and the numbers of 4 bits
//   Q3_K, IQ4_XS                    d; scale is s - 32
//   IQ2_*, IQ3_*, IQ1_M             d; scale is 2 s + 1
//   IQ1_S                           d; scale is 2 s + 1 with the sign of delta
struct StoredScales {
  f16_t d, dmin;
  float wide;
  int8_t scale[2], min[2];
};

// Element j is scale[j / 16] * (codes[j] - kCodeZero) + min[j / 16].
struct CodeBlock {
  uint8_t codes[kBlock];
  float scale[2];
  float min[2];
  StoredScales stored;  // filled by decoding, not by unpacking
};

// Sets the scale and the minimum of both halves.
inline void set_scale(CodeBlock& block, float scale, float min) {
  block.scale[0] = block.scale[1] = scale;
  block.min[0] = block.min[1] = min;
}

// Sets both halves to the scale d and the minimum m, and stores these.
inline void set_stored_scale(CodeBlock& block, f16_t d, f16_t m) {
  block.stored.d = d;
  block.stored.dmin = m;
  set_scale(block, f16_to_f32(d), f16_to_f32(m));
}

// Sets the scale of half `h` to factor * d * scale without a minimum, and stores d and scale.
inline void set_stored_half(CodeBlock& block, size_t h, f16_t d, int scale, float factor) {
  block.stored.d = d;
  block.stored.scale[h] = static_cast<int8_t>(scale);
  block.scale[h] = f16_to_f32(d) * static_cast<float>(scale) * factor;
  block.min[h] = 0;
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

// Holds N bytes by value, so that loops over them vectorise. Loops over bytes that may alias the
// codes do not.
template <size_t N>
struct BlockBytes {
  uint8_t at[N];
  explicit BlockBytes(const std::byte* p) { std::memcpy(at, p, N); }
  uint8_t operator[](size_t i) const { return at[i]; }
};

// Reads the codes of two bits of block `part` of a super-block. Four blocks share 32 bytes.
struct TwoBits {
  BlockBytes<kBlock> x;
  uint32_t shift;
  TwoBits(const std::byte* p, uint32_t part) : x(p + 32 * (part / 4)), shift(2 * (part % 4)) {}
  uint32_t operator[](size_t i) const { return x[i] >> shift & 3u; }
};

inline constexpr uint64_t kOneInEachByte = 0x0101010101010101;

// Returns eight bytes, the first one in the lowest bits of the result. Byte i is bit i of `bits`.
inline uint64_t spread_bits(uint8_t bits) {
  const uint64_t kept = bits * kOneInEachByte & 0x8040201008040201;
  return ((kept + 0x7f7f7f7f7f7f7f7f) | kept) >> 7 & kOneInEachByte;
}

// Returns eight bytes like spread_bits(). Byte i is bits 2 i and 2 i + 1 of `pairs`.
inline uint64_t spread_pairs(uint16_t pairs) {
  uint64_t x = pairs;
  x = (x | x << 24) & 0x000000ff000000ff;
  x = (x | x << 12) & 0x000f000f000f000f;
  return (x | x << 6) & 0x0303030303030303;
}

inline void put_codes(uint8_t* out, uint64_t eight) { std::memcpy(out, &eight, sizeof eight); }

// Looks up codes of 4 bits: element i is in the low nibble of byte i, element N + i in the high
// one. Writes the codes of a CodeBlock to out[2 N].
template <size_t N>
inline void look_up_nibbles(const std::byte* nibbles, const CodeTable& table, uint8_t* out) {
  uint8_t codes[16];
  for (size_t i = 0; i < 16; ++i) codes[i] = static_cast<uint8_t>(table.values[i] + kCodeZero);
  const BlockBytes<N> x(nibbles);
  for (size_t i = 0; i < N; ++i) {
    out[i] = codes[x[i] & 15];
    out[N + i] = codes[x[i] >> 4];
  }
}

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
