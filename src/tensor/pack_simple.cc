// Packs kQ8_0 and kQ4_0: the file's codes in another order, and beside them one scale a block.
#include "base/fp_types.h"
#include "tensor/pack_panel.h"
#include "tensor/transpose.h"

namespace hearth {
namespace {

constexpr std::array<std::byte, 18> kZeroQ4_0 = [] {
  std::array<std::byte, 18> block = {};
  for (size_t i = 2; i < 18; ++i) block[i] = std::byte{0x88};
  return block;
}();

void pack_block_q8_0(const PanelRows& blocks, std::byte* codes, std::byte* scales) {
  gather_f16(blocks, 0, scales);
  transpose_words<8>(codes, [&](size_t r, size_t c) {
    return load_vector<U32x4>(blocks[r] + 2 + 4 * c) ^ splat(0x80808080);
  });
}

// Packs a block of Q4_0. The file already has elements i and i + 16 in one byte.
void pack_block_q4_0(const PanelRows& blocks, std::byte* codes, std::byte* scales) {
  gather_f16(blocks, 0, scales);
  transpose_words<4>(codes, [&](size_t r, size_t) { return load_vector<U32x4>(blocks[r] + 2); });
}

// Packs a panel. `padding` is a block of zeros in the file's layout.
template <size_t CodeBytes, const auto& padding, auto pack_block>
void pack_simple(const PackSpec& spec, const PanelSource& source, std::byte* codes,
                 std::byte* scales) {
  const size_t block_bytes = dtype_info(source.dtype).block_bytes;
  const size_t origin = spec.k_origin / kBlock;
  for (uint32_t b = 0; b < spec.blocks(); ++b) {
    pack_block(blocks_at(source.rows, origin + b, block_bytes, padding.data()),
               codes + CodeBytes * b, scales + 2 * kPanelRows * b);
  }
}

// Reads the scale of a block.
void read_scale(const PackedLane& lane, uint32_t b, CodeBlock& block) {
  set_scale(block, f16_to_f32(read_at<f16_t>(lane.scales + size_t{32} * b, lane.r)), 0);
}

}  // namespace

constinit const PackKindInfo kind_q8_0 = {
    .name = "q8_0",
    .code_bytes = 512,
    .scale_bytes = 32,
    .block_scale = ScaleForm::kF16,
    .pack = pack_simple<512, kZeroBlock, pack_block_q8_0>,
    .unpack_codes = [](const PackedLane& lane, uint32_t b, CodeBlock& block) {
      read_byte_codes(lane, b, block);
      read_scale(lane, b, block);
    }};

constinit const PackKindInfo kind_q4_0 = {
    .name = "q4_0",
    .code_bytes = 256,
    .scale_bytes = 32,
    .block_scale = ScaleForm::kF16,
    .pack = pack_simple<256, kZeroQ4_0, pack_block_q4_0>,
    .unpack_codes = [](const PackedLane& lane, uint32_t b, CodeBlock& block) {
      read_nibbles(lane, lane.codes + size_t{256} * b, block);
      add_to_codes(block, kCodeZero - 8);
      read_scale(lane, b, block);
    }};

}  // namespace hearth
