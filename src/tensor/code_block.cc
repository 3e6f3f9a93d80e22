#include "tensor/code_block.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "base/fp_types.h"

namespace hearth {
namespace {

constexpr uint8_t kZero = 128;

// IQ4_NL's levels, and MXFP4's (E2M1) doubled so that they are integers; both plus 128.
constexpr uint8_t kIq4NlCodes[16] = {1,   24,  45,  63,  79,  93,  106, 118,
                                     129, 141, 153, 166, 181, 197, 217, 241};
constexpr uint8_t kMxFp4Codes[16] = {128, 129, 130, 131, 132, 134, 136, 140,
                                     128, 127, 126, 125, 124, 122, 120, 116};

uint8_t byte_at(const std::byte* p, size_t i) { return std::to_integer<uint8_t>(p[i]); }

// Holds N bytes by value: loops over them vectorise; loops over bytes that may alias the codes
// don't.
template <size_t N>
struct Bytes {
  uint8_t at[N];
  explicit Bytes(const std::byte* p) { std::memcpy(at, p, N); }
  uint8_t operator[](size_t i) const { return at[i]; }
};

float f16_at(const std::byte* p, size_t offset) {
  f16_t h;
  std::memcpy(&h, p + offset, sizeof h);
  return f16_to_f32(h);
}

void set_scale(CodeBlock& b, float scale, float min) {
  b.scale[0] = b.scale[1] = scale;
  b.min[0] = b.min[1] = min;
}

// Types with blocks of 32 keep element i in the low nibble of byte i and element i + 16 in the high
// one.
void split_nibbles(const std::byte* nibbles, CodeBlock& b, int offset) {
  const Bytes<16> x(nibbles);
  const auto zero = static_cast<uint8_t>(kZero - offset);
  for (size_t i = 0; i < 16; ++i) b.codes[i] = static_cast<uint8_t>((x[i] & 15) + zero);
  for (size_t i = 0; i < 16; ++i) b.codes[i + 16] = static_cast<uint8_t>((x[i] >> 4) + zero);
}

void look_up_nibbles(const std::byte* nibbles, const uint8_t (&table)[16], CodeBlock& b) {
  for (size_t i = 0; i < 16; ++i) {
    uint8_t x = byte_at(nibbles, i);
    b.codes[i] = table[x & 15];
    b.codes[i + 16] = table[x >> 4];
  }
}

// Q5_0 and Q5_1 keep the fifth bits in a little-endian word, bit i for element i.
void add_fifth_bits(const std::byte* bits, CodeBlock& b) {
  for (size_t i = 0; i < kBlock; i += 8) {
    // Every bit of a byte goes to a byte of its own, which is 0x10 where the bit is set.
    const uint64_t spread = byte_at(bits, i / 8) * uint64_t{0x0101010101010101};
    const uint64_t kept = spread & 0x8040201008040201;
    const uint64_t set = ((kept + 0x7f7f7f7f7f7f7f7f) | kept) >> 7 & 0x0101010101010101;
    uint64_t codes;
    std::memcpy(&codes, b.codes + i, sizeof codes);
    codes += set << 4;
    std::memcpy(b.codes + i, &codes, sizeof codes);
  }
}

void decode_q8_0(const std::byte* p, CodeBlock& b) {
  set_scale(b, f16_at(p, 0), 0);
  for (size_t i = 0; i < kBlock; ++i) {
    b.codes[i] = static_cast<uint8_t>(byte_at(p + 2, i) ^ kZero);
  }
}

// Q4_1 holds scale, min and nibbles; Q5_1 holds scale, min, fifth bits and nibbles.
void decode_with_min(const std::byte* p, bool fifth_bits, CodeBlock& b) {
  set_scale(b, f16_at(p, 0), f16_at(p, 2));
  split_nibbles(p + (fifth_bits ? 8 : 4), b, 0);
  if (fifth_bits) add_fifth_bits(p + 4, b);
}

// Returns MXFP4's scale for the doubled levels, 2^(e - 127) / 2; e < 2 makes a subnormal.
float half_e8m0(uint8_t e) {
  uint32_t bits = e < 2 ? uint32_t{0x00200000} << e : uint32_t{e - 1u} << 23;
  return std::bit_cast<float>(bits);
}

// Decodes the 4-bit codes and the 6-bit scales and minima of Q4_K and Q5_K; pairs of blocks share
// 32 bytes.
void decode_q4_or_q5_k(const std::byte* p, uint32_t part, const std::byte* nibbles, CodeBlock& b) {
  ScaleMin6 six = scale_min_6(p + 4, part);
  set_scale(b, f16_at(p, 0) * six.scale, -(f16_at(p, 2) * six.min));
  const uint32_t shift = part % 2 * 4;
  for (size_t i = 0; i < kBlock; ++i) {
    b.codes[i] =
        static_cast<uint8_t>((byte_at(nibbles + 32 * (part / 2), i) >> shift & 15) + kZero);
  }
}

void decode_q5_k(const std::byte* p, uint32_t part, CodeBlock& b) {
  decode_q4_or_q5_k(p, part, p + 48, b);
  const Bytes<kBlock> fifth(p + 16);
  for (size_t i = 0; i < kBlock; ++i) {
    b.codes[i] = static_cast<uint8_t>(b.codes[i] + (fifth[i] >> part & 1) * 16);
  }
}

// Reads two bits an element; four blocks share 32 bytes.
struct TwoBits {
  Bytes<kBlock> x;
  uint32_t shift;
  TwoBits(const std::byte* p, uint32_t part) : x(p + 32 * (part / 4)), shift(2 * (part % 4)) {}
  uint32_t operator[](size_t i) const { return x[i] >> shift & 3u; }
};

void decode_q2_k(const std::byte* p, uint32_t part, CodeBlock& b) {
  const float d = f16_at(p, 80), dmin = f16_at(p, 82);
  for (size_t h = 0; h < 2; ++h) {
    uint8_t packed = byte_at(p, 2 * part + h);
    b.scale[h] = d * static_cast<float>(packed & 15);
    b.min[h] = -(dmin * static_cast<float>(packed >> 4));
  }
  const TwoBits low(p + 16, part);
  for (size_t i = 0; i < kBlock; ++i) {
    b.codes[i] = static_cast<uint8_t>(low[i] + kZero);
  }
}

void decode_q3_k(const std::byte* p, uint32_t part, CodeBlock& b) {
  const std::byte* scales = p + 96;
  const float d = f16_at(p, 108);
  for (uint32_t h = 0; h < 2; ++h) {
    // 16 numbers of 6 bits: the low four in 8 bytes of nibbles, the high two in 4 bytes.
    uint32_t i = 2 * part + h;
    int low = i < 8 ? byte_at(scales, i) & 15 : byte_at(scales, i - 8) >> 4;
    int high = byte_at(scales, 8 + i % 4) >> (2 * (i / 4)) & 3;
    b.scale[h] = d * static_cast<float>((low | high << 4) - 32);
    b.min[h] = 0;
  }
  const Bytes<kBlock> third(p);
  const TwoBits low(p + 32, part);
  for (size_t i = 0; i < kBlock; ++i) {
    b.codes[i] = static_cast<uint8_t>(low[i] + 4 * (third[i] >> part & 1u) + kZero - 4);
  }
}

void decode_q6_k(const std::byte* p, uint32_t part, CodeBlock& b) {
  const float d = f16_at(p, 208);
  for (size_t h = 0; h < 2; ++h) {
    b.scale[h] = d * static_cast<int8_t>(byte_at(p, 192 + 2 * part + h));
    b.min[h] = 0;
  }
  const Bytes<kBlock> low(p + 64 * (part / 4) + 32 * (part % 2));
  const TwoBits high(p + 128, part);
  const uint32_t shift = part % 4 / 2 * 4;
  for (size_t i = 0; i < kBlock; ++i) {
    uint32_t code = (low[i] >> shift & 15u) | high[i] << 4;
    b.codes[i] = static_cast<uint8_t>(code + kZero - 32);
  }
}

}  // namespace

CodeBlock decode_block(DType dtype, const std::byte* block, uint32_t part) {
  CodeBlock b;
  switch (dtype) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
    case DType::kF8E4M3:
      HEARTH_CHECK(false, "plain types have no blocks of codes");
    case DType::kQ4_0:
      set_scale(b, f16_at(block, 0), 0);
      split_nibbles(block + 2, b, 8);
      break;
    case DType::kQ4_1:
      decode_with_min(block, false, b);
      break;
    case DType::kQ5_0:
      set_scale(b, f16_at(block, 0), 0);
      split_nibbles(block + 6, b, 16);
      add_fifth_bits(block + 2, b);
      break;
    case DType::kQ5_1:
      decode_with_min(block, true, b);
      break;
    case DType::kQ8_0:
      decode_q8_0(block, b);
      break;
    case DType::kQ2_K:
      decode_q2_k(block, part, b);
      break;
    case DType::kQ3_K:
      decode_q3_k(block, part, b);
      break;
    case DType::kQ4_K:
      decode_q4_or_q5_k(block, part, block + 16, b);
      break;
    case DType::kQ5_K:
      decode_q5_k(block, part, b);
      break;
    case DType::kQ6_K:
      decode_q6_k(block, part, b);
      break;
    case DType::kIQ4_NL:
      set_scale(b, f16_at(block, 0), 0);
      look_up_nibbles(block + 2, kIq4NlCodes, b);
      break;
    case DType::kMXFP4:
      set_scale(b, half_e8m0(byte_at(block, 0)), 0);
      look_up_nibbles(block + 1, kMxFp4Codes, b);
      break;
  }
  return b;
}

void code_block_values(const CodeBlock& block, float* out) {
  for (size_t h = 0; h < 2; ++h) {
    for (size_t i = 16 * h; i < 16 * h + 16; ++i) {
      out[i] = block.scale[h] * static_cast<float>(block.codes[i] - kZero) + block.min[h];
    }
  }
}

}  // namespace hearth
