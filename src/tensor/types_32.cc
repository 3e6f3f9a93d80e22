// The types with blocks of 32 elements, and NVFP4, which has 64. The comment above each DTypeInfo
// gives the block's layout in the file (block_q4_0 ... of the specification) and the value of an
// element; d is the scale and m the minimum, in f16.

#include "tensor/code_block.h"
#include "tensor/code_tables.h"
#include "tensor/dtype.h"

namespace hearth {
namespace {

// Sets the codes: element i is in the low nibble of byte i, element i + 16 in the high one.
void split_nibbles(const std::byte* nibbles, CodeBlock& b, int offset) {
  const BlockBytes<16> x(nibbles);
  const auto zero = static_cast<uint8_t>(kCodeZero - offset);
  for (size_t i = 0; i < 16; ++i) b.codes[i] = static_cast<uint8_t>((x[i] & 15) + zero);
  for (size_t i = 0; i < 16; ++i) b.codes[i + 16] = static_cast<uint8_t>((x[i] >> 4) + zero);
}

// Adds the fifth bits, which are a little-endian word with bit i for element i.
void add_fifth_bits(const std::byte* bits, CodeBlock& b) {
  for (size_t i = 0; i < kBlock; i += 8) {
    uint64_t codes;
    std::memcpy(&codes, b.codes + i, sizeof codes);
    put_codes(b.codes + i, codes + (spread_bits(byte_at(bits, i / 8)) << 4));
  }
}

void decode_mxfp4(const std::byte* p, uint32_t, CodeBlock& b) {
  const uint8_t e = byte_at(p, 0);
  b.stored.scale[0] = b.stored.scale[1] = static_cast<int8_t>(e);
  set_scale(b, e8m0_to_f32(e) * kTableE2m1.factor, 0);
  look_up_nibbles<16>(p + 1, kTableE2m1, b.codes);
}

// Decodes NVFP4. No scale of a sound file is negative. Bytes from 0x7f on, NaN and negative ones,
// become NaN here, so that a damaged file is noticed; llama.cpp reads 0x7f as 0, and ignores the
// sign.
void decode_nvfp4(const std::byte* p, uint32_t part, CodeBlock& b) {
  for (size_t h = 0; h < 2; ++h) {
    const size_t group = 2 * part + h;
    const e4m3_t scale = byte_at(p, group);
    b.stored.scale[h] = static_cast<int8_t>(scale);
    b.scale[h] = e4m3_to_f32(scale < 0x7f ? scale : e4m3_t{0x7f}) * kTableE2m1.factor;
    b.min[h] = 0;
    look_up_nibbles<8>(p + 4 + 8 * group, kTableE2m1, b.codes + 16 * h);
  }
}

}  // namespace

// d, 16 bytes of nibbles; d (code - 8)
constinit const DTypeInfo type_q4_0 = {.name = "q4_0",
                                       .gguf_type = 2,
                                       .block_elements = 32,
                                       .block_bytes = 18,
                                       .pack = PackKind::kQ4_0,
                                       .scales = {{{ScaleForm::kF16, 0}}},
                                       .decode = [](const std::byte* p, uint32_t, CodeBlock& b) {
                                         set_scale(b, f16_at(p, 0), 0);
                                         split_nibbles(p + 2, b, 8);
                                       }};

// d, m, 16 bytes of nibbles; d code + m
constinit const DTypeInfo type_q4_1 = {.name = "q4_1",
                                       .gguf_type = 3,
                                       .block_elements = 32,
                                       .block_bytes = 20,
                                       .pack = PackKind::kL4M,
                                       .scales = {{{ScaleForm::kF16, 0}, {ScaleForm::kF16, 2}}},
                                       .decode = [](const std::byte* p, uint32_t, CodeBlock& b) {
                                         set_stored_scale(b, read_at<f16_t>(p, 0),
                                                          read_at<f16_t>(p, 1));
                                         split_nibbles(p + 4, b, 0);
                                       }};

// d, 4 bytes of fifth bits, 16 of nibbles; d (code - 16)
constinit const DTypeInfo type_q5_0 = {.name = "q5_0",
                                       .gguf_type = 6,
                                       .block_elements = 32,
                                       .block_bytes = 22,
                                       .pack = PackKind::kL5,
                                       .scales = {{{ScaleForm::kF16, 0}}},
                                       .decode = [](const std::byte* p, uint32_t, CodeBlock& b) {
                                         set_stored_scale(b, read_at<f16_t>(p, 0), 0);
                                         split_nibbles(p + 6, b, 16);
                                         add_fifth_bits(p + 2, b);
                                       }};

// d, m, 4 bytes of fifth bits, 16 of nibbles; d code + m
constinit const DTypeInfo type_q5_1 = {.name = "q5_1",
                                       .gguf_type = 7,
                                       .block_elements = 32,
                                       .block_bytes = 24,
                                       .pack = PackKind::kL5M,
                                       .scales = {{{ScaleForm::kF16, 0}, {ScaleForm::kF16, 2}}},
                                       .decode = [](const std::byte* p, uint32_t, CodeBlock& b) {
                                         set_stored_scale(b, read_at<f16_t>(p, 0),
                                                          read_at<f16_t>(p, 1));
                                         split_nibbles(p + 8, b, 0);
                                         add_fifth_bits(p + 4, b);
                                       }};

// d, 32 bytes of int8; d code
constinit const DTypeInfo type_q8_0 = {.name = "q8_0",
                                       .gguf_type = 8,
                                       .block_elements = 32,
                                       .block_bytes = 34,
                                       .pack = PackKind::kQ8_0,
                                       .scales = {{{ScaleForm::kF16, 0}}},
                                       .decode = [](const std::byte* p, uint32_t, CodeBlock& b) {
                                         set_scale(b, f16_at(p, 0), 0);
                                         for (size_t i = 0; i < kBlock; ++i) {
                                           b.codes[i] =
                                               static_cast<uint8_t>(byte_at(p + 2, i) ^ kCodeZero);
                                         }
                                       }};

// d, 16 bytes of nibbles; d level[code]
constinit const DTypeInfo type_iq4_nl = {.name = "iq4_nl",
                                         .gguf_type = 20,
                                         .block_elements = 32,
                                         .block_bytes = 18,
                                         .pack = PackKind::kL4,
                                         .form = {.table = &kTableIq4Nl},
                                         .scales = {{{ScaleForm::kF16, 0}}},
                                         .decode = [](const std::byte* p, uint32_t, CodeBlock& b) {
                                           set_stored_scale(b, read_at<f16_t>(p, 0), 0);
                                           look_up_nibbles<16>(p + 2, kTableIq4Nl, b.codes);
                                         }};

// e in E8M0, 16 bytes of nibbles; 2^(e - 127) E2M1[code]
constinit const DTypeInfo type_mxfp4 = {.name = "mxfp4",
                                        .gguf_type = 39,
                                        .block_elements = 32,
                                        .block_bytes = 17,
                                        .pack = PackKind::kL4,
                                        .form = {.table = &kTableE2m1, .scale = ScaleForm::kE8M0},
                                        .scales = {{{ScaleForm::kE8M0, 0}}},
                                        .decode = decode_mxfp4};

// Four scales s in E4M3, each of 16 elements; for each of these 8 bytes of nibbles; s E2M1[code]
constinit const DTypeInfo type_nvfp4 = {.name = "nvfp4",
                                        .gguf_type = 40,
                                        .block_elements = 64,
                                        .block_bytes = 36,
                                        .pack = PackKind::kL4H,
                                        .form = {.table = &kTableE2m1, .scale = ScaleForm::kE4M3},
                                        .scales = {{{ScaleForm::kE4M3, 0},
                                                    {ScaleForm::kE4M3, 1},
                                                    {ScaleForm::kE4M3, 2},
                                                    {ScaleForm::kE4M3, 3}}},
                                        .decode = decode_nvfp4};

}  // namespace hearth
