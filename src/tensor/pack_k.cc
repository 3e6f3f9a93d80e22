// Packs kQ4_K, kQ5_K and kQ6_K: the file's codes in another order, and beside them the scales of
// super-blocks and blocks.
#include "base/fp_types.h"
#include "tensor/pack_panel.h"
#include "tensor/transpose.h"

namespace hearth {
namespace {

constexpr std::array<std::byte, 210> kZeroQ6_K = [] {
  std::array<std::byte, 210> block = {};
  for (size_t i = 128; i < 192; ++i) block[i] = std::byte{0xaa};  // upper bits of code 32
  return block;
}();

// Packs the low or the high nibbles of 32 bytes; the nibbles of bytes i and i + 16 share a byte.
void pack_nibbles(const PanelRows& blocks, size_t offset, bool high, std::byte* codes) {
  const U32x4 low_mask = splat(0x0f0f0f0f);
  transpose_words<4>(codes, [&](size_t r, size_t) {
    U32x4 x = load_vector<U32x4>(blocks[r] + offset);
    U32x4 y = load_vector<U32x4>(blocks[r] + offset + 16);
    return high ? (x >> 4 & low_mask) | (y & ~low_mask) : (x & low_mask) | (y & low_mask) << 4;
  });
}

// Packs super-blocks' scales, which Q4_K and Q5_K store alike.
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

// Packs bit `part` of 32 bytes of each row; the bits of bytes i, i + 4 .. i + 28 share a byte.
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

// Packs bits 2 (part % 4) and 2 (part % 4) + 1 of 16 bytes of each row. The bits of bytes i, i + 4,
// i + 8, i + 12 share a byte.
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

// Packs a panel. `padding` is a block of zeros in the file's layout.
template <size_t CodeBytes, size_t SuperBytes, const auto& padding, auto pack_super,
          auto pack_block>
void pack_k(const PackSpec& spec, const PanelSource& source, std::byte* codes, std::byte* scales) {
  const size_t block_bytes = dtype_info(source.dtype).block_bytes;
  const size_t first_super = spec.k_origin / kBlock / kSuperBlocks;
  std::byte* block_scales = scales + SuperBytes * spec.supers();
  uint32_t b = 0;
  for (uint32_t s = 0; s < spec.supers(); ++s) {
    PanelRows supers = blocks_at(source.rows, first_super + s, block_bytes, padding.data());
    pack_super(supers, scales + SuperBytes * s);
    for (; b < spec.blocks() && (b + spec.super_offset()) / kSuperBlocks == s; ++b) {
      pack_block(supers, (b + spec.super_offset()) % kSuperBlocks, codes + CodeBytes * b,
                 block_scales + 2 * kPanelRows * b);
    }
  }
}

// Reads the scales of kQ4_K and kQ5_K.
void read_scales_q4_k(const PackedLane& lane, uint32_t b, CodeBlock& block) {
  const std::byte* super = lane.scales + 64 * ((b + lane.super_offset) / kSuperBlocks);
  const std::byte* own = lane.scales + size_t{64} * lane.supers + size_t{32} * b;
  set_scale(block, f16_to_f32(read_at<f16_t>(super, lane.r)) * read_at<uint8_t>(own, lane.r),
            -(f16_to_f32(read_at<f16_t>(super, 16 + lane.r)) * read_at<uint8_t>(own, 16 + lane.r)));
}

void unpack_q5_k(const PackedLane& lane, uint32_t b, CodeBlock& block) {
  const std::byte* codes = lane.codes + size_t{320} * b;
  read_nibbles(lane, codes, block);
  add_high_bits<1>(lane, codes + 256, block);
  add_to_codes(block, kCodeZero);
  read_scales_q4_k(lane, b, block);
}

void unpack_q6_k(const PackedLane& lane, uint32_t b, CodeBlock& block) {
  const std::byte* codes = lane.codes + size_t{384} * b;
  read_nibbles(lane, codes, block);
  add_high_bits<2>(lane, codes + 256, block);
  add_to_codes(block, kCodeZero - 32);
  const std::byte* super = lane.scales + 32 * ((b + lane.super_offset) / kSuperBlocks);
  const std::byte* own = lane.scales + size_t{32} * lane.supers + size_t{32} * b;
  const float d = f16_to_f32(read_at<f16_t>(super, lane.r));
  for (size_t h = 0; h < 2; ++h) {
    block.scale[h] = d * read_at<int8_t>(own, 16 * h + lane.r);
    block.min[h] = 0;
  }
}

}  // namespace

constinit const PackKindInfo kind_q4_k = {
    .name = "q4_k",
    .code_bytes = 256,
    .scale_bytes = 32,
    .super_bytes = 64,
    .block_scale = ScaleForm::kInteger,
    .super_scale = ScaleForm::kF16,
    .minima = true,
    .pack = pack_k<256, 64, kZeroBlock, pack_super_q4_k, pack_block_q4_k>,
    .unpack_codes = [](const PackedLane& lane, uint32_t b, CodeBlock& block) {
      read_nibbles(lane, lane.codes + size_t{256} * b, block);
      add_to_codes(block, kCodeZero);
      read_scales_q4_k(lane, b, block);
    }};

constinit const PackKindInfo kind_q5_k = {
    .name = "q5_k",
    .code_bytes = 320,
    .scale_bytes = 32,
    .super_bytes = 64,
    .block_scale = ScaleForm::kInteger,
    .super_scale = ScaleForm::kF16,
    .minima = true,
    .pack = pack_k<320, 64, kZeroBlock, pack_super_q4_k, pack_block_q5_k>,
    .unpack_codes = unpack_q5_k};

constinit const PackKindInfo kind_q6_k = {
    .name = "q6_k",
    .code_bytes = 384,
    .scale_bytes = 32,
    .super_bytes = 32,
    .block_scale = ScaleForm::kInteger,
    .super_scale = ScaleForm::kF16,
    .scale_elements = kBlock / 2,
    .pack = pack_k<384, 32, kZeroQ6_K, pack_super_q6_k, pack_block_q6_k>,
    .unpack_codes = unpack_q6_k};

}  // namespace hearth
