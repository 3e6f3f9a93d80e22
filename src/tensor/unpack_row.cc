#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/fp_types.h"
#include "tensor/code_block.h"
#include "tensor/pack_spec.h"

namespace hearth {
namespace {

template <typename T>
T read(const std::byte* p, size_t index) {
  T value;
  std::memcpy(&value, p + index * sizeof(T), sizeof(T));
  return value;
}

// Points to one row of one panel.
struct Lane {
  const PackSpec& spec;
  const std::byte* codes;   // of the panel
  const std::byte* scales;  // of the panel
  size_t r;

  // Returns the index of byte j % 4 of group g in [g][16][4].
  static size_t in_groups(size_t g, size_t r, size_t j) { return (g * kPanelRows + r) * 4 + j % 4; }
};

void plain_block(const Lane& lane, uint32_t b, float* out) {
  for (size_t j = 0; j < kBlock; ++j) {
    const size_t k = size_t{kBlock} * b + j;
    const size_t at = k * kPanelRows + lane.r;
    if (lane.spec.kind == PackKind::kF32) {
      out[j] = read<float>(lane.codes, at);
    } else if (lane.spec.kind == PackKind::kF16) {
      out[j] = f16_to_f32(read<f16_t>(lane.codes, at));
    } else {
      out[j] = bf16_to_f32(read<bf16_t>(lane.codes, (k / 2 * kPanelRows + lane.r) * 2 + k % 2));
    }
  }
}

void fp8_block(const Lane& lane, uint32_t b, float* out) {
  const std::byte* codes = lane.codes + size_t{512} * b;
  const float scale =
      read<Fp8Scale>(lane.scales, (b + lane.spec.super_offset()) / kFp8SuperBlocks).scale;
  for (size_t j = 0; j < kBlock; ++j) {
    out[j] = scale * e4m3_to_f32(read<e4m3_t>(codes, fp8_code_at(lane.r, j)));
  }
}

void read_byte_codes(const Lane& lane, uint32_t b, CodeBlock& block) {
  const std::byte* codes = lane.codes + size_t{512} * b;
  for (size_t j = 0; j < kBlock; ++j) {
    block.codes[j] = read<uint8_t>(codes, Lane::in_groups(j / 4, lane.r, j));
  }
}

// Reads the 4 low bits of every code; `codes` points to the block.
void read_nibbles(const Lane& lane, const std::byte* codes, CodeBlock& block) {
  for (size_t j = 0; j < kBlock; ++j) {
    uint8_t byte = read<uint8_t>(codes, Lane::in_groups(j / 4 % 4, lane.r, j));
    block.codes[j] = j < kBlock / 2 ? byte & 15 : byte >> 4;
  }
}

void add_to_codes(CodeBlock& block, int offset) {
  for (uint8_t& code : block.codes) code = static_cast<uint8_t>(code + offset);
}

void set_scale(CodeBlock& block, float scale, float min) {
  std::fill_n(block.scale, 2, scale);
  std::fill_n(block.min, 2, min);
}

// Reads the scales of kQ4_K and kQ5_K.
void read_scales_q4_k(const Lane& lane, uint32_t b, CodeBlock& block) {
  const std::byte* super = lane.scales + 64 * ((b + lane.spec.super_offset()) / kSuperBlocks);
  const std::byte* own = lane.scales + size_t{64} * lane.spec.supers() + size_t{32} * b;
  set_scale(block, f16_to_f32(read<f16_t>(super, lane.r)) * read<uint8_t>(own, lane.r),
            -(f16_to_f32(read<f16_t>(super, 16 + lane.r)) * read<uint8_t>(own, 16 + lane.r)));
}

CodeBlock q4_k_block(const Lane& lane, uint32_t b) {
  CodeBlock block;
  read_nibbles(lane, lane.codes + size_t{256} * b, block);
  add_to_codes(block, 128);
  read_scales_q4_k(lane, b, block);
  return block;
}

CodeBlock q5_k_block(const Lane& lane, uint32_t b) {
  CodeBlock block;
  const std::byte* codes = lane.codes + size_t{320} * b;
  read_nibbles(lane, codes, block);
  for (size_t j = 0; j < kBlock; ++j) {
    uint8_t byte = read<uint8_t>(codes + 256, Lane::in_groups(0, lane.r, j));
    block.codes[j] = static_cast<uint8_t>(block.codes[j] | (byte >> (j / 4) & 1) << 4);
  }
  add_to_codes(block, 128);
  read_scales_q4_k(lane, b, block);
  return block;
}

CodeBlock q6_k_block(const Lane& lane, uint32_t b) {
  CodeBlock block;
  const std::byte* codes = lane.codes + size_t{384} * b;
  read_nibbles(lane, codes, block);
  for (size_t j = 0; j < kBlock; ++j) {
    size_t g = j / 4;
    uint8_t byte = read<uint8_t>(codes + 256, Lane::in_groups(g / 4, lane.r, j));
    block.codes[j] = static_cast<uint8_t>(block.codes[j] | (byte >> (2 * (g % 4)) & 3) << 4);
  }
  add_to_codes(block, 128 - 32);
  const std::byte* super = lane.scales + 32 * ((b + lane.spec.super_offset()) / kSuperBlocks);
  const std::byte* own = lane.scales + size_t{32} * lane.spec.supers() + size_t{32} * b;
  for (size_t h = 0; h < 2; ++h) {
    block.scale[h] = f16_to_f32(read<f16_t>(super, lane.r)) * read<int8_t>(own, 16 * h + lane.r);
    block.min[h] = 0;
  }
  return block;
}

CodeBlock int8_block(const Lane& lane, uint32_t b) {
  CodeBlock block;
  read_byte_codes(lane, b, block);
  const size_t halves = lane.spec.kind == PackKind::kI8x16 ? 2 : 1;
  const std::byte* own = lane.scales + 2 * halves * kPanelRows * sizeof(float) * b;
  for (size_t h = 0; h < 2; ++h) {
    size_t at = h % halves * kPanelRows + lane.r;
    block.scale[h] = read<float>(own, at);
    block.min[h] = read<float>(own, halves * kPanelRows + at);
  }
  return block;
}

CodeBlock code_block(const Lane& lane, uint32_t b) {
  CodeBlock block;
  switch (lane.spec.kind) {
    case PackKind::kQ8_0:
      read_byte_codes(lane, b, block);
      break;
    case PackKind::kQ4_0:
      read_nibbles(lane, lane.codes + size_t{256} * b, block);
      add_to_codes(block, 128 - 8);
      break;
    case PackKind::kQ4_K:
      return q4_k_block(lane, b);
    case PackKind::kQ5_K:
      return q5_k_block(lane, b);
    case PackKind::kQ6_K:
      return q6_k_block(lane, b);
    default:
      return int8_block(lane, b);
  }
  set_scale(block, f16_to_f32(read<f16_t>(lane.scales + size_t{32} * b, lane.r)), 0);
  return block;
}

}  // namespace

void unpack_row(const PackSpec& spec, const std::byte* codes, const std::byte* scales, uint32_t row,
                float* out) {
  HEARTH_CHECK(row < spec.panels() * kPanelRows, "the row is the shard's");
  const size_t panel = row / kPanelRows;
  const Lane lane{spec, codes + spec.codes_panel_bytes() * panel,
                  scales + spec.scales_panel_bytes() * panel, row % kPanelRows};
  const bool plain = spec.kind <= PackKind::kBF16;
  for (uint32_t b = 0; b < spec.blocks(); ++b) {
    float values[kBlock];
    if (plain) {
      plain_block(lane, b, values);
    } else if (spec.kind == PackKind::kFP8) {
      fp8_block(lane, b, values);
    } else {
      code_block_values(code_block(lane, b), values);
    }
    std::copy_n(values, std::min(kBlock, spec.k - kBlock * b), out + size_t{kBlock} * b);
  }
}

}  // namespace hearth
