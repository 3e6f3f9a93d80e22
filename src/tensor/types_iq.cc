// The i-quants: super-blocks of 256 elements, eight blocks of 32 (block_iq2_xxs ... of the
// specification). For each group of 8 or 4 elements they store the index of a row of magnitudes
// (tensor/iquant_grids.h), and signs beside it. The comment above each DTypeInfo gives the layout
// in the file and the value of an element; d is in f16, and s is a number of 3 or 4 bits.
#include <bit>

#include "tensor/code_block.h"
#include "tensor/code_tables.h"
#include "tensor/dtype.h"
#include "tensor/iquant_grids.h"

namespace hearth {
namespace {

// Writes eight codes: magnitudes below 128, one a byte, that are negative where a sign bit is set.
void put_signed(uint8_t* codes, uint64_t magnitudes, uint8_t signs) {
  const uint64_t negative = spread_bits(signs);
  // 128 + m, or 128 - m as (m ^ 0x7f) + 1: no byte carries into the next.
  put_codes(codes, (magnitudes ^ negative * 0x7f) + kOneInEachByte * kCodeZero - negative * 0x7f);
}

// Returns eight signs of the seven stored ones: the eighth makes the number of negative elements
// even.
uint8_t even_signs(uint32_t seven) {
  seven &= 127;
  return static_cast<uint8_t>(seven | (std::popcount(seven) & 1u) << 7);
}

// Returns the magnitudes 8, 25, 43 for the numbers 0, 1, 2 of a row of IQ2's grids.
uint64_t iq2_magnitudes(uint16_t row) {
  const uint64_t n = spread_pairs(row);
  return 8 * kOneInEachByte + 17 * n + (n >> 1 & kOneInEachByte);
}

// Returns the numbers of two rows of IQ3's grids as eight bytes.
uint64_t iq3_numbers(uint16_t first, uint16_t second) {
  uint64_t x = first | uint64_t{second} << 32;
  x = (x | x << 10) & 0x003f003f003f003f;
  return (x | x << 5) & 0x0707070707070707;
}

// Returns 2 s + 1 of the half h of a block whose two scales are the nibbles of a byte.
int odd_scale(uint8_t nibbles, size_t h) { return 2 * (nibbles >> 4 * h & 15) + 1; }

// Writes codes and scale of a block of IQ2_XXS or IQ3_XXS. Both are in the word of 32 bits: 7 sign
// bits for each group of 8, then s.
void set_signs_and_scale(CodeBlock& b, uint32_t word, const uint64_t (&magnitudes)[4], f16_t d,
                         float factor) {
  for (size_t l = 0; l < 4; ++l) {
    put_signed(b.codes + 8 * l, magnitudes[l], even_signs(word >> 7 * l));
  }
  const int scale = static_cast<int>(2 * (word >> 28) + 1);
  for (size_t h = 0; h < 2; ++h) set_stored_half(b, h, d, scale, factor);
}

void decode_iq2_xxs(const std::byte* p, uint32_t part, CodeBlock& b) {
  const std::byte* block = p + 2 + 8 * part;
  uint64_t magnitudes[4];
  for (size_t l = 0; l < 4; ++l) magnitudes[l] = iq2_magnitudes(kGridIq2Xxs[byte_at(block, l)]);
  set_signs_and_scale(b, read_at<uint32_t>(block + 4, 0), magnitudes, read_at<f16_t>(p, 0),
                      kTableIq2.factor);
}

void decode_iq2_xs(const std::byte* p, uint32_t part, CodeBlock& b) {
  for (size_t l = 0; l < 4; ++l) {
    const auto packed = read_at<uint16_t>(p + 2, 4 * part + l);
    put_signed(b.codes + 8 * l, iq2_magnitudes(kGridIq2Xs[packed & 511]), even_signs(packed >> 9));
  }
  for (size_t h = 0; h < 2; ++h) {
    set_stored_half(b, h, read_at<f16_t>(p, 0), odd_scale(byte_at(p, 66 + part), h),
                    kTableIq2.factor);
  }
}

void decode_iq2_s(const std::byte* p, uint32_t part, CodeBlock& b) {
  const uint32_t high = byte_at(p, 66 + part);
  for (size_t l = 0; l < 4; ++l) {
    const size_t group = 4 * part + l;
    const uint32_t row = byte_at(p, 2 + group) | (high >> 2 * l & 3) << 8;
    put_signed(b.codes + 8 * l, iq2_magnitudes(kGridIq2S[row]), byte_at(p, 34 + group));
  }
  for (size_t h = 0; h < 2; ++h) {
    set_stored_half(b, h, read_at<f16_t>(p, 0), odd_scale(byte_at(p, 74 + part), h),
                    kTableIq2.factor);
  }
}

void decode_iq3_xxs(const std::byte* p, uint32_t part, CodeBlock& b) {
  const std::byte* rows = p + 2 + 8 * part;
  uint64_t magnitudes[4];
  for (size_t l = 0; l < 4; ++l) {
    const uint64_t n =
        iq3_numbers(kGridIq3Xxs[byte_at(rows, 2 * l)], kGridIq3Xxs[byte_at(rows, 2 * l + 1)]);
    // 8 n + 4 for n < 7, and 62 for 7.
    magnitudes[l] = 8 * n + 4 * kOneInEachByte + 2 * (n & n >> 1 & n >> 2 & kOneInEachByte);
  }
  set_signs_and_scale(b, read_at<uint32_t>(p + 66, part), magnitudes, read_at<f16_t>(p, 0),
                      kTableIq3xxs.factor);
}

void decode_iq3_s(const std::byte* p, uint32_t part, CodeBlock& b) {
  const uint32_t high = byte_at(p, 66 + part);
  auto row = [&](size_t i) {
    return kGridIq3S[byte_at(p, 2 + 8 * part + i) | (high >> i & 1) << 8];
  };
  for (size_t l = 0; l < 4; ++l) {
    const uint64_t magnitudes = 2 * iq3_numbers(row(2 * l), row(2 * l + 1)) + kOneInEachByte;
    put_signed(b.codes + 8 * l, magnitudes, byte_at(p, 74 + 4 * part + l));
  }
  const int scale = odd_scale(byte_at(p, 106 + part / 2), part % 2);
  for (size_t h = 0; h < 2; ++h) {
    set_stored_half(b, h, read_at<f16_t>(p, 0), scale, kTableIq3s.factor);
  }
}

void decode_iq1_s(const std::byte* p, uint32_t part, CodeBlock& b) {
  const uint32_t high = read_at<uint16_t>(p + 34, part);
  for (size_t l = 0; l < 4; ++l) {
    const uint32_t row = byte_at(p, 2 + 4 * part + l) | (high >> 3 * l & 7) << 8;
    put_codes(b.codes + 8 * l, spread_pairs(kGridIq1[row]) + kOneInEachByte * (kCodeZero - 1));
  }
  const int scale = static_cast<int>(2 * (high >> 12 & 7) + 1);
  const bool below = (high & 0x8000) != 0;
  for (size_t h = 0; h < 2; ++h) {
    set_stored_half(b, h, read_at<f16_t>(p, 0), scale, 1);
    b.stored.scale[h] = static_cast<int8_t>(below ? -scale : scale);
    b.min[h] = b.scale[h] * (below ? -0.125f : 0.125f);
  }
}

// Returns d, whose 16 bits lie in the top four bits of each of the four words of scales. The first
// word has the lowest four bits.
f16_t iq1_m_scale(const std::byte* words) {
  uint32_t d = 0;
  for (uint32_t i = 0; i < 4; ++i) d |= (read_at<uint16_t>(words, i) >> 12u) << 4 * i;
  return static_cast<f16_t>(d);
}

// Decodes IQ1_M. Codes are 8 g + 1 or 8 g - 1, since delta has one sign for each 8 elements.
void decode_iq1_m(const std::byte* p, uint32_t part, CodeBlock& b) {
  for (size_t l = 0; l < 4; ++l) {
    const uint32_t nibble = byte_at(p, 32 + 2 * part + l / 2) >> 4 * (l % 2) & 15u;
    const uint32_t row = byte_at(p, 4 * part + l) | (nibble & 7) << 8;
    const uint32_t zero = kCodeZero + (nibble < 8 ? 1u : -1u);
    put_codes(b.codes + 8 * l, 8 * spread_pairs(kGridIq1[row]) + kOneInEachByte * (zero - 8));
  }
  const uint32_t scales = read_at<uint16_t>(p + 48, part / 2) >> 6 * (part % 2);
  for (size_t h = 0; h < 2; ++h) {
    set_stored_half(b, h, iq1_m_scale(p + 48), static_cast<int>(2 * (scales >> 3 * h & 7) + 1),
                    kTableIq1.factor);
  }
}

void decode_iq4_xs(const std::byte* p, uint32_t part, CodeBlock& b) {
  const int low = byte_at(p, 4 + part / 2) >> 4 * (part % 2) & 15;
  const int high = read_at<uint16_t>(p + 2, 0) >> 2 * part & 3;
  for (size_t h = 0; h < 2; ++h) {
    set_stored_half(b, h, read_at<f16_t>(p, 0), (low | high << 4) - 32, kTableIq4Nl.factor);
  }
  look_up_nibbles<16>(p + 8 + 16 * part, kTableIq4Nl, b.codes);
}

}  // namespace

// d; for each block 4 bytes of rows, then a word of 32 bits: 7 sign bits a group of 8, 4 of s;
// d (2 s + 1) / 8 row
constinit const DTypeInfo type_iq2_xxs = {.name = "iq2_xxs",
                                          .gguf_type = 16,
                                          .block_elements = 256,
                                          .block_bytes = 66,
                                          .pack = PackKind::kL3K,
                                          .form = {.table = &kTableIq2},
                                          .scales = {{{ScaleForm::kF16, 0}}},
                                          .decode = decode_iq2_xxs};

// d; for each group of 8, 16 bits: 9 of the row, 7 sign bits; 8 bytes of s of half blocks, in 4
// bits; d (2 s + 1) / 8 row
constinit const DTypeInfo type_iq2_xs = {.name = "iq2_xs",
                                         .gguf_type = 17,
                                         .block_elements = 256,
                                         .block_bytes = 74,
                                         .pack = PackKind::kL3H,
                                         .form = {.table = &kTableIq2},
                                         .scales = {{{ScaleForm::kF16, 0}}},
                                         .decode = decode_iq2_xs};

// d; 32 bytes of the low bits of rows, 32 of signs, 8 of the two high bits of rows, 8 of s of half
// blocks, in 4 bits; d (2 s + 1) / 8 row
constinit const DTypeInfo type_iq2_s = {.name = "iq2_s",
                                        .gguf_type = 22,
                                        .block_elements = 256,
                                        .block_bytes = 82,
                                        .pack = PackKind::kL3H,
                                        .form = {.table = &kTableIq2},
                                        .scales = {{{ScaleForm::kF16, 0}}},
                                        .decode = decode_iq2_s};

// d; 64 bytes of rows of 4; for each block a word as of IQ2_XXS; d (2 s + 1) / 4 row
constinit const DTypeInfo type_iq3_xxs = {.name = "iq3_xxs",
                                          .gguf_type = 18,
                                          .block_elements = 256,
                                          .block_bytes = 98,
                                          .pack = PackKind::kL4K,
                                          .form = {.table = &kTableIq3xxs},
                                          .scales = {{{ScaleForm::kF16, 0}}},
                                          .decode = decode_iq3_xxs};

// d; 64 bytes of the low bits of rows of 4, 8 of the ninth bits, 32 of signs, 4 of s of blocks, in
// 4 bits; d (2 s + 1) row
constinit const DTypeInfo type_iq3_s = {.name = "iq3_s",
                                        .gguf_type = 21,
                                        .block_elements = 256,
                                        .block_bytes = 110,
                                        .pack = PackKind::kL4K,
                                        .form = {.table = &kTableIq3s},
                                        .scales = {{{ScaleForm::kF16, 0}}},
                                        .decode = decode_iq3_s};

// d; 32 bytes of the low bits of rows; for each block 16 bits: three high bits of each of its 4
// rows, 3 of s, whether delta is -1/8 instead of 1/8; d (2 s + 1) (row + delta)
constinit const DTypeInfo type_iq1_s = {.name = "iq1_s",
                                        .gguf_type = 19,
                                        .block_elements = 256,
                                        .block_bytes = 50,
                                        .pack = PackKind::kIQ1_S,
                                        .scales = {{{ScaleForm::kF16, 0}}},
                                        .decode = decode_iq1_s};

// 32 bytes of the low bits of rows; a nibble for each: three high bits, whether delta is -1/8; four
// words of 16 bits: s of four half blocks in 3 bits, then a piece of d; d (2 s + 1) (row + delta).
// DTypeInfo::scales names the last of these words, whose top bits are the top bits of d.
constinit const DTypeInfo type_iq1_m = {.name = "iq1_m",
                                        .gguf_type = 29,
                                        .block_elements = 256,
                                        .block_bytes = 56,
                                        .pack = PackKind::kL3H,
                                        .form = {.table = &kTableIq1},
                                        .scales = {{{ScaleForm::kF16, 54}}},
                                        .decode = decode_iq1_m};

// d; 16 bits of the high two bits of s, 4 bytes of the low four; 128 bytes of nibbles;
// d (s - 32) level[code] with the levels of IQ4_NL
constinit const DTypeInfo type_iq4_xs = {.name = "iq4_xs",
                                         .gguf_type = 23,
                                         .block_elements = 256,
                                         .block_bytes = 136,
                                         .pack = PackKind::kL4K,
                                         .form = {.table = &kTableIq4Nl},
                                         .scales = {{{ScaleForm::kF16, 0}}},
                                         .decode = decode_iq4_xs};

}  // namespace hearth
