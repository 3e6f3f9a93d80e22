// The common parts of packing and unpacking panels of 16 rows (tensor/pack_*.cc, a file for a
// family of pack kinds).
//
// Packing transposes: 16 rows that lie far apart become one stream. It works in 4 x 4 tiles of
// 32-bit words, in vector registers that every processor has, and reaches more than half the speed
// of memcpy.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>

#include "tensor/code_block.h"
#include "tensor/pack_spec.h"

namespace hearth {

// The rows of a panel: either in a file's layout of `dtype`, or given by `reader` block by block.
struct PanelSource {
  DType dtype;
  PanelRows rows = {};
  float scale = 1;  // the factor of the rows of kL4H
  const BlockReader* reader = nullptr;
  uint32_t read_rows = 0;  // rows that the reader gives

  bool has(size_t r) const { return reader != nullptr ? r < read_rows : rows[r] != nullptr; }
  float scale_of(size_t r) const {
    if (!has(r)) return 0;
    return reader != nullptr ? reader->scale(r) : scale;
  }
  // Reads block `block` of row r, which must not be padding, from the reader or, for a quantised
  // type, from the rows.
  void read(size_t r, size_t block, CodeBlock& out) const {
    if (reader != nullptr) return reader->read(r, block, out);
    const DTypeInfo& info = dtype_info(dtype);
    const size_t parts = info.block_elements / kBlock;
    info.decode(rows[r] + block / parts * info.block_bytes, static_cast<uint32_t>(block % parts),
                out);
  }
};

// Returns the address of block `index` of `block_bytes` bytes in each row. For rows of padding it
// is `padding`.
inline PanelRows blocks_at(const PanelRows& rows, size_t index, size_t block_bytes,
                           const std::byte* padding) {
  PanelRows blocks;
  for (size_t r = 0; r < kPanelRows; ++r) {
    blocks[r] = rows[r] == nullptr ? padding : rows[r] + index * block_bytes;
  }
  return blocks;
}

// Sets out[r] to the f16 at `offset` of row r's block.
inline void gather_f16(const PanelRows& blocks, size_t offset, std::byte* out) {
  for (size_t r = 0; r < kPanelRows; ++r) std::memcpy(out + 2 * r, blocks[r] + offset, 2);
}

// A block of zeros as a file has it, for rows of padding in types whose zero is code 0 or scale 0.
inline constexpr std::array<std::byte, 256> kZeroBlock = {};

// Returns the index of element j of a block in the bytes [g][16][4] of group g.
inline size_t in_groups(size_t g, size_t r, size_t j) { return (g * kPanelRows + r) * 4 + j % 4; }

// Returns the bytes that row r has in N groups, side by side.
template <size_t N>
inline BlockBytes<4 * N> group_bytes(const std::byte* groups, size_t r) {
  std::byte bytes[4 * N];
  for (size_t g = 0; g < N; ++g) std::memcpy(bytes + 4 * g, groups + in_groups(g, r, 0), 4);
  return BlockBytes<4 * N>(bytes);
}

// Reads a block's codes of 8 bits.
inline void read_byte_codes(const PackedLane& lane, uint32_t b, CodeBlock& block) {
  const BlockBytes<kBlock> codes = group_bytes<8>(lane.codes + size_t{512} * b, lane.r);
  std::memcpy(block.codes, codes.at, kBlock);
}

// Reads the 4 low bits of every code; `codes` points to the block.
inline void read_nibbles(const PackedLane& lane, const std::byte* codes, CodeBlock& block) {
  const BlockBytes<kBlock / 2> x = group_bytes<4>(codes, lane.r);
  for (size_t i = 0; i < kBlock / 2; ++i) {
    block.codes[i] = x[i] & 15;
    block.codes[kBlock / 2 + i] = x[i] >> 4;
  }
}

// Adds `Bits` bits of every code above the 4 low ones. A row's 32-bit words at `high` hold these
// bits of 8 / Bits groups of 4 codes each.
template <uint32_t Bits>
inline void add_high_bits(const PackedLane& lane, const std::byte* high, CodeBlock& block) {
  constexpr size_t kShared = 8 / Bits;
  constexpr uint32_t kMask = ((1u << Bits) - 1) * 0x01010101u;
  uint8_t bits[kBlock];
  for (size_t g = 0; g < kBlock / 4; ++g) {
    const auto word = read_at<uint32_t>(high, g / kShared * kPanelRows + lane.r);
    const uint32_t own = word >> (Bits * (g % kShared)) & kMask;
    std::memcpy(bits + 4 * g, &own, sizeof own);
  }
  for (size_t j = 0; j < kBlock; ++j) {
    block.codes[j] = static_cast<uint8_t>(block.codes[j] | bits[j] << 4);
  }
}

inline void add_to_codes(CodeBlock& block, int offset) {
  for (uint8_t& code : block.codes) code = static_cast<uint8_t>(code + offset);
}

}  // namespace hearth
