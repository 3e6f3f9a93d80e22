// The types with two bits an element or fewer and one scale d, in f16: TQ1_0 and TQ2_0 with
// super-blocks of 256 elements, Q1_0 with blocks of 128, Q2_0 with blocks of 64. The comment above
// each DTypeInfo gives the layout in the file (block_tq1_0 ... of the specification).
#include "tensor/code_block.h"
#include "tensor/dtype.h"

namespace hearth {
namespace {

// Returns a digit of a byte. byte / 256 is a fraction in base 3, and digit 0 is the first after the
// point.
uint8_t ternary_digit(uint8_t byte, uint32_t index) {
  constexpr uint8_t kPowers[5] = {1, 3, 9, 27, 81};
  const auto rest = static_cast<uint8_t>(byte * kPowers[index]);
  return static_cast<uint8_t>(rest * 3 >> 8);
}

// Writes the codes of digit `index` of each of `count` bytes. A digit stands for digit - 1.
void put_digits(const std::byte* bytes, size_t count, uint32_t index, uint8_t* codes) {
  for (size_t i = 0; i < count; ++i) {
    codes[i] = static_cast<uint8_t>(ternary_digit(byte_at(bytes, i), index) + kCodeZero - 1);
  }
}

// Decodes TQ1_0. Digit n of 32 bytes is block n, for 5 blocks. Then follow two and a half blocks of
// the five digits of 16 bytes, and half a block of the four digits of 4 bytes.
void decode_tq1_0(const std::byte* p, uint32_t part, CodeBlock& b) {
  set_stored_scale(b, read_at<f16_t>(p + 52, 0), 0);
  if (part < 5) return put_digits(p, 32, part, b.codes);
  const uint32_t first = 2 * (part - 5);
  put_digits(p + 32, 16, first, b.codes);
  if (part < 7) return put_digits(p + 32, 16, first + 1, b.codes + 16);
  for (uint32_t n = 0; n < 4; ++n) put_digits(p + 48, 4, n, b.codes + 16 + 4 * n);
}

void decode_tq2_0(const std::byte* p, uint32_t part, CodeBlock& b) {
  set_stored_scale(b, read_at<f16_t>(p + 64, 0), 0);
  const TwoBits two(p, part);
  for (size_t i = 0; i < kBlock; ++i) b.codes[i] = static_cast<uint8_t>(two[i] + kCodeZero - 1);
}

void decode_q1_0(const std::byte* p, uint32_t part, CodeBlock& b) {
  set_stored_scale(b, read_at<f16_t>(p, 0), 0);
  for (size_t i = 0; i < 4; ++i) {
    put_codes(b.codes + 8 * i,
              2 * spread_bits(byte_at(p, 2 + 4 * part + i)) + kOneInEachByte * (kCodeZero - 1));
  }
}

void decode_q2_0(const std::byte* p, uint32_t part, CodeBlock& b) {
  set_stored_scale(b, read_at<f16_t>(p, 0), 0);
  for (size_t i = 0; i < 4; ++i) {
    put_codes(b.codes + 8 * i, spread_pairs(read_at<uint16_t>(p + 2, 4 * part + i)) +
                                   kOneInEachByte * (kCodeZero - 1));
  }
}

}  // namespace

// 48 bytes of five digits in base 3 each, 4 bytes of four, then d; a value is d (digit - 1).
constinit const DTypeInfo type_tq1_0 = {.name = "tq1_0",
                                        .gguf_type = 34,
                                        .block_elements = 256,
                                        .block_bytes = 54,
                                        .pack = PackKind::kL2,
                                        .form = {.group_blocks = 8},
                                        .scales = {{{ScaleForm::kF16, 52}}},
                                        .decode = decode_tq1_0};

// 64 bytes of codes of 2 bits, in the order of Q2_K, then d; a value is d (code - 1). Code 3 would
// be 2 d, but files do not use it.
constinit const DTypeInfo type_tq2_0 = {.name = "tq2_0",
                                        .gguf_type = 35,
                                        .block_elements = 256,
                                        .block_bytes = 66,
                                        .pack = PackKind::kL2,
                                        .form = {.group_blocks = 8},
                                        .scales = {{{ScaleForm::kF16, 64}}},
                                        .decode = decode_tq2_0};

// d, then 16 bytes of bits: element i is bit i % 8 of byte i / 8. Its value is d if the bit is set,
// else -d.
constinit const DTypeInfo type_q1_0 = {.name = "q1_0",
                                       .gguf_type = 41,
                                       .block_elements = 128,
                                       .block_bytes = 18,
                                       .pack = PackKind::kL1,
                                       .form = {.group_blocks = 4},
                                       .scales = {{{ScaleForm::kF16, 0}}},
                                       .decode = decode_q1_0};

// d, then 16 bytes of codes of 2 bits: element i begins at bit 2 (i % 4) of byte i / 4. A value is
// d (code - 1).
constinit const DTypeInfo type_q2_0 = {.name = "q2_0",
                                       .gguf_type = 42,
                                       .block_elements = 64,
                                       .block_bytes = 18,
                                       .pack = PackKind::kL2,
                                       .form = {.group_blocks = 2},
                                       .scales = {{{ScaleForm::kF16, 0}}},
                                       .decode = decode_q2_0};

}  // namespace hearth
