// The types with super-blocks of 256 elements, eight blocks of 32 (block_q2_K ... of the
// specification). The comment above each DTypeInfo gives the layout in the file. d and dmin, in
// f16, multiply the integer scales and minima of the blocks.
#include "tensor/code_block.h"
#include "tensor/code_tables.h"
#include "tensor/dtype.h"

namespace hearth {
namespace {

// Decodes the 4-bit codes and the 6-bit scales and minima of Q4_K and Q5_K; pairs of blocks share
// 32 bytes.
void decode_q4_or_q5_k(const std::byte* p, uint32_t part, const std::byte* nibbles, CodeBlock& b) {
  ScaleMin6 six = scale_min_6(p + 4, part);
  set_scale(b, f16_at(p, 0) * six.scale, -(f16_at(p, 2) * six.min));
  const uint32_t shift = part % 2 * 4;
  for (size_t i = 0; i < kBlock; ++i) {
    b.codes[i] =
        static_cast<uint8_t>((byte_at(nibbles + 32 * (part / 2), i) >> shift & 15) + kCodeZero);
  }
}

void decode_q4_k(const std::byte* p, uint32_t part, CodeBlock& b) {
  decode_q4_or_q5_k(p, part, p + 16, b);
}

void decode_q5_k(const std::byte* p, uint32_t part, CodeBlock& b) {
  decode_q4_or_q5_k(p, part, p + 48, b);
  const BlockBytes<kBlock> fifth(p + 16);
  for (size_t i = 0; i < kBlock; ++i) {
    b.codes[i] = static_cast<uint8_t>(b.codes[i] + (fifth[i] >> part & 1) * 16);
  }
}

void decode_q2_k(const std::byte* p, uint32_t part, CodeBlock& b) {
  const float d = f16_at(p, 80), dmin = f16_at(p, 82);
  b.stored.d = read_at<f16_t>(p + 80, 0);
  b.stored.dmin = read_at<f16_t>(p + 82, 0);
  for (size_t h = 0; h < 2; ++h) {
    uint8_t packed = byte_at(p, 2 * part + h);
    b.stored.scale[h] = packed & 15;
    b.stored.min[h] = static_cast<int8_t>(packed >> 4);
    b.scale[h] = d * static_cast<float>(packed & 15);
    b.min[h] = -(dmin * static_cast<float>(packed >> 4));
  }
  const TwoBits low(p + 16, part);
  for (size_t i = 0; i < kBlock; ++i) {
    b.codes[i] = static_cast<uint8_t>(low[i] + kCodeZero);
  }
}

void decode_q3_k(const std::byte* p, uint32_t part, CodeBlock& b) {
  const std::byte* scales = p + 96;
  const auto d = read_at<f16_t>(p + 108, 0);
  for (uint32_t h = 0; h < 2; ++h) {
    // 16 numbers of 6 bits: the low four in 8 bytes of nibbles, the high two in 4 bytes.
    uint32_t i = 2 * part + h;
    int low = i < 8 ? byte_at(scales, i) & 15 : byte_at(scales, i - 8) >> 4;
    int high = byte_at(scales, 8 + i % 4) >> (2 * (i / 4)) & 3;
    set_stored_half(b, h, d, (low | high << 4) - 32, kTableQ3.factor);
  }
  const BlockBytes<kBlock> third(p);
  const TwoBits low(p + 32, part);
  for (size_t i = 0; i < kBlock; ++i) {
    b.codes[i] = static_cast<uint8_t>(low[i] + 4 * (third[i] >> part & 1u) + kCodeZero - 4);
  }
}

void decode_q6_k(const std::byte* p, uint32_t part, CodeBlock& b) {
  const float d = f16_at(p, 208);
  for (size_t h = 0; h < 2; ++h) {
    b.scale[h] = d * static_cast<int8_t>(byte_at(p, 192 + 2 * part + h));
    b.min[h] = 0;
  }
  const BlockBytes<kBlock> low(p + 64 * (part / 4) + 32 * (part % 2));
  const TwoBits high(p + 128, part);
  const uint32_t shift = part % 4 / 2 * 4;
  for (size_t i = 0; i < kBlock; ++i) {
    uint32_t code = (low[i] >> shift & 15u) | high[i] << 4;
    b.codes[i] = static_cast<uint8_t>(code + kCodeZero - 32);
  }
}

}  // namespace

// 16 bytes: scale and minimum of a half block, in 4 bits each; 64 bytes of 2 bits; d, dmin
constinit const DTypeInfo type_q2_k = {.name = "q2_k",
                                       .gguf_type = 10,
                                       .block_elements = 256,
                                       .block_bytes = 84,
                                       .pack = PackKind::kQ2_K,
                                       .scales = {{{ScaleForm::kF16, 80}, {ScaleForm::kF16, 82}}},
                                       .decode = decode_q2_k};

// 32 bytes of third bits, 64 of 2 bits, 12 of scales of half blocks in 6 bits; d
constinit const DTypeInfo type_q3_k = {.name = "q3_k",
                                       .gguf_type = 11,
                                       .block_elements = 256,
                                       .block_bytes = 110,
                                       .pack = PackKind::kL3H,
                                       .form = {.table = &kTableQ3},
                                       .scales = {{{ScaleForm::kF16, 108}}},
                                       .decode = decode_q3_k};

// d, dmin, 12 bytes of scales and minima in 6 bits, 128 of nibbles
constinit const DTypeInfo type_q4_k = {.name = "q4_k",
                                       .gguf_type = 12,
                                       .block_elements = 256,
                                       .block_bytes = 144,
                                       .pack = PackKind::kQ4_K,
                                       .scales = {{{ScaleForm::kF16, 0}, {ScaleForm::kF16, 2}}},
                                       .decode = decode_q4_k};

// d, dmin, 12 bytes of scales and minima in 6 bits, 32 of fifth bits, 128 of nibbles
constinit const DTypeInfo type_q5_k = {.name = "q5_k",
                                       .gguf_type = 13,
                                       .block_elements = 256,
                                       .block_bytes = 176,
                                       .pack = PackKind::kQ5_K,
                                       .scales = {{{ScaleForm::kF16, 0}, {ScaleForm::kF16, 2}}},
                                       .decode = decode_q5_k};

// 128 bytes of nibbles, 64 of 2 bits, 16 int8 scales of half blocks; d
constinit const DTypeInfo type_q6_k = {.name = "q6_k",
                                       .gguf_type = 14,
                                       .block_elements = 256,
                                       .block_bytes = 210,
                                       .pack = PackKind::kQ6_K,
                                       .scales = {{{ScaleForm::kF16, 208}}},
                                       .decode = decode_q6_k};

}  // namespace hearth
