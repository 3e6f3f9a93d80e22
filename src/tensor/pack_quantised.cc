#include <cstring>

#include "base/check.h"
#include "tensor/code_block.h"
#include "tensor/pack_panel.h"
#include "tensor/transpose.h"

namespace hearth {
namespace {

// These blocks of a file mean zero with scale 0, for the rows of padding.
constexpr std::array<std::byte, 256> kZeroBlock = {};
constexpr std::array<std::byte, 18> kZeroQ4_0 = [] {
  std::array<std::byte, 18> block = {};
  for (size_t i = 2; i < 18; ++i) block[i] = std::byte{0x88};
  return block;
}();
constexpr std::array<std::byte, 210> kZeroQ6_K = [] {
  std::array<std::byte, 210> block = {};
  for (size_t i = 128; i < 192; ++i) block[i] = std::byte{0xaa};  // codes of 32
  return block;
}();

U32x4 splat(uint32_t x) { return U32x4{x, x, x, x}; }

// Sets out[r] to the f16 at `offset` of row r's block.
void gather_f16(const PanelRows& blocks, size_t offset, std::byte* out) {
  for (size_t r = 0; r < kPanelRows; ++r) std::memcpy(out + 2 * r, blocks[r] + offset, 2);
}

void pack_block_q8_0(const PanelRows& blocks, std::byte* codes, std::byte* scales) {
  gather_f16(blocks, 0, scales);
  transpose_words<8>(codes, [&](size_t r, size_t c) {
    return load_vector<U32x4>(blocks[r] + 2 + 4 * c) ^ splat(0x80808080);
  });
}

// The file has elements i and i + 16 in one byte already.
void pack_block_q4_0(const PanelRows& blocks, std::byte* codes, std::byte* scales) {
  gather_f16(blocks, 0, scales);
  transpose_words<4>(codes, [&](size_t r, size_t) { return load_vector<U32x4>(blocks[r] + 2); });
}

// Packs the low or the high nibbles of 32 bytes; the nibbles of bytes i and i + 16 share a byte.
void pack_nibbles(const PanelRows& blocks, size_t offset, bool high, std::byte* codes) {
  const U32x4 low_mask = splat(0x0f0f0f0f);
  transpose_words<4>(codes, [&](size_t r, size_t) {
    U32x4 x = load_vector<U32x4>(blocks[r] + offset);
    U32x4 y = load_vector<U32x4>(blocks[r] + offset + 16);
    return high ? (x >> 4 & low_mask) | (y & ~low_mask) : (x & low_mask) | (y & low_mask) << 4;
  });
}

// Super-blocks and scales are alike in Q4_K and Q5_K.
void pack_super_q4_k(const PanelRows& blocks, std::byte* supers) {
  gather_f16(blocks, 0, supers);
  gather_f16(blocks, 2, supers + 32);
}

void pack_scales_q4_k(const PanelRows& blocks, uint32_t part, std::byte* scales) {
  for (size_t r = 0; r < kPanelRows; ++r) {
    ScaleMin6 six = scale_min_6(blocks[r] + 4, part);
    scales[r] = std::byte{six.scale};
    scales[kPanelRows + r] = std::byte{six.min};
  }
}

void pack_block_q4_k(const PanelRows& blocks, uint32_t part, std::byte* codes, std::byte* scales) {
  pack_nibbles(blocks, 16 + 32 * (part / 2), part % 2 != 0, codes);
  pack_scales_q4_k(blocks, part, scales);
}

// Packs bit `part` of 32 bytes a row; the bits of bytes i, i + 4 .. i + 28 share a byte.
void pack_fifth_bits(const PanelRows& blocks, size_t offset, uint32_t part, std::byte* codes) {
  const U32x4 mask = splat(0x01010101);
  for (size_t r = 0; r < kPanelRows; r += 4) {
    U32x4 v[4];
    for (size_t i = 0; i < 4; ++i) {
      const std::byte* bits = blocks[r + i] + offset;
      v[i] = (load_vector<U32x4>(bits) >> part & mask) |
             (load_vector<U32x4>(bits + 16) >> part & mask) << 4;
    }
    transpose(v);
    store_vector(codes + 4 * r, v[0] | v[1] << 1 | v[2] << 2 | v[3] << 3);
  }
}

void pack_block_q5_k(const PanelRows& blocks, uint32_t part, std::byte* codes, std::byte* scales) {
  pack_nibbles(blocks, 48 + 32 * (part / 2), part % 2 != 0, codes);
  pack_fifth_bits(blocks, 16, part, codes + 256);
  pack_scales_q4_k(blocks, part, scales);
}

// Packs bits [2 (part % 4), + 2) of 16 bytes a row; the bits of bytes i, i + 4, i + 8, i + 12 share
// a byte.
void pack_high_bits(const PanelRows& blocks, size_t offset, uint32_t part, std::byte* codes) {
  const uint32_t shift = 2 * (part % 4);
  for (size_t r = 0; r < kPanelRows; r += 4) {
    U32x4 v[4];
    for (size_t i = 0; i < 4; ++i) {
      v[i] = load_vector<U32x4>(blocks[r + i] + offset) >> shift & splat(0x03030303);
    }
    transpose(v);
    store_vector(codes + 4 * r, v[0] | v[1] << 2 | v[2] << 4 | v[3] << 6);
  }
}

void pack_super_q6_k(const PanelRows& blocks, std::byte* supers) {
  gather_f16(blocks, 208, supers);
}

void pack_block_q6_k(const PanelRows& blocks, uint32_t part, std::byte* codes, std::byte* scales) {
  pack_nibbles(blocks, 64 * (part / 4) + 32 * (part % 2), part % 4 >= 2, codes);
  for (size_t h = 0; h < 2; ++h) {
    pack_high_bits(blocks, 128 + 32 * (part / 4) + 16 * h, part, codes + 256 + 64 * h);
    for (size_t r = 0; r < kPanelRows; ++r) {
      scales[kPanelRows * h + r] = blocks[r][192 + 2 * part + h];
    }
  }
}

template <size_t CodeBytes, typename PackBlock>
void pack_simple(const PackSpec& spec, const PanelSource& source, const std::byte* padding,
                 std::byte* codes, std::byte* scales, PackBlock pack_block) {
  const size_t block_bytes = dtype_info(source.dtype).block_bytes;
  const size_t origin = spec.k_origin / kBlock;
  for (uint32_t b = 0; b < spec.blocks(); ++b) {
    pack_block(blocks_at(source.rows, origin + b, block_bytes, padding), codes + CodeBytes * b,
               scales + 2 * kPanelRows * b);
  }
}

template <size_t CodeBytes, size_t SuperBytes, typename PackSuper, typename PackBlock>
void pack_k(const PackSpec& spec, const PanelSource& source, const std::byte* padding,
            std::byte* codes, std::byte* scales, PackSuper pack_super, PackBlock pack_block) {
  const size_t block_bytes = dtype_info(source.dtype).block_bytes;
  const size_t first_super = spec.k_origin / kBlock / kSuperBlocks;
  std::byte* block_scales = scales + SuperBytes * spec.supers();
  uint32_t b = 0;
  for (uint32_t s = 0; s < spec.supers(); ++s) {
    PanelRows supers = blocks_at(source.rows, first_super + s, block_bytes, padding);
    pack_super(supers, scales + SuperBytes * s);
    for (; b < spec.blocks() && (b + spec.super_offset()) / kSuperBlocks == s; ++b) {
      pack_block(supers, (b + spec.super_offset()) % kSuperBlocks, codes + CodeBytes * b,
                 block_scales + 2 * kPanelRows * b);
    }
  }
}

}  // namespace

void pack_quantised(const PackSpec& spec, const PanelSource& source, std::byte* codes,
                    std::byte* scales) {
  switch (spec.kind) {
    case PackKind::kQ8_0:
      return pack_simple<512>(spec, source, kZeroBlock.data(), codes, scales, pack_block_q8_0);
    case PackKind::kQ4_0:
      return pack_simple<256>(spec, source, kZeroQ4_0.data(), codes, scales, pack_block_q4_0);
    case PackKind::kQ4_K:
      return pack_k<256, 64>(spec, source, kZeroBlock.data(), codes, scales, pack_super_q4_k,
                             pack_block_q4_k);
    case PackKind::kQ5_K:
      return pack_k<320, 64>(spec, source, kZeroBlock.data(), codes, scales, pack_super_q4_k,
                             pack_block_q5_k);
    case PackKind::kQ6_K:
      return pack_k<384, 32>(spec, source, kZeroQ6_K.data(), codes, scales, pack_super_q6_k,
                             pack_block_q6_k);
    default:
      HEARTH_CHECK(false, "not a kind that keeps the file's codes");
  }
}

}  // namespace hearth
