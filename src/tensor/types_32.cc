// The types with blocks of 32 elements. A row's comment is the block's layout in the file
// (block_q4_0 ... of the specification); d is the scale and m the minimum, in f16.
#include <bit>

#include "tensor/code_block.h"
#include "tensor/dtype.h"

namespace hearth {
namespace {

// Element i is in the low nibble of byte i and element i + 16 in the high one.
void split_nibbles(const std::byte* nibbles, CodeBlock& b, int offset) {
  const BlockBytes<16> x(nibbles);
  const auto zero = static_cast<uint8_t>(kCodeZero - offset);
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

// The fifth bits are a little-endian word, bit i for element i.
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

// IQ4_NL's levels, and MXFP4's (E2M1) doubled so that they are integers; both plus kCodeZero.
constexpr uint8_t kIq4NlCodes[16] = {1,   24,  45,  63,  79,  93,  106, 118,
                                     129, 141, 153, 166, 181, 197, 217, 241};
constexpr uint8_t kMxFp4Codes[16] = {128, 129, 130, 131, 132, 134, 136, 140,
                                     128, 127, 126, 125, 124, 122, 120, 116};

constinit const CodeTable kTableIq4Nl = {
    {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}, 1};
constinit const CodeTable kTableE2m1 = {{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12},
                                        0.5f};

void store_d(const std::byte* d, CodeBlock& b) { b.stored.d = read_at<f16_t>(d, 0); }
void store_d_m(const std::byte* d, CodeBlock& b) {
  b.stored.d = read_at<f16_t>(d, 0);
  b.stored.dmin = read_at<f16_t>(d, 1);
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
                                         store_d_m(p, b);
                                         set_scale(b, f16_at(p, 0), f16_at(p, 2));
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
                                         store_d(p, b);
                                         set_scale(b, f16_at(p, 0), 0);
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
                                         store_d_m(p, b);
                                         set_scale(b, f16_at(p, 0), f16_at(p, 2));
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
                                           store_d(p, b);
                                           set_scale(b, f16_at(p, 0), 0);
                                           look_up_nibbles(p + 2, kIq4NlCodes, b);
                                         }};

// e in E8M0, 16 bytes of nibbles; 2^(e - 127) E2M1[code]
constinit const DTypeInfo type_mxfp4 = {.name = "mxfp4",
                                        .gguf_type = 39,
                                        .block_elements = 32,
                                        .block_bytes = 17,
                                        .pack = PackKind::kL4,
                                        .form = {.table = &kTableE2m1, .scale = ScaleForm::kE8M0},
                                        .scales = {{{ScaleForm::kE8M0, 0}}},
                                        .decode = [](const std::byte* p, uint32_t, CodeBlock& b) {
                                          set_scale(b, e8m0_to_f32(byte_at(p, 0)) * 0.5f, 0);
                                          b.stored.scale[0] = b.stored.scale[1] =
                                              static_cast<int8_t>(byte_at(p, 0));
                                          look_up_nibbles(p + 1, kMxFp4Codes, b);
                                        }};

}  // namespace hearth
