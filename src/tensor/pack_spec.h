// A PackSpec says how one shard of a weight matrix lies in memory for the kernels. The map is
// documented and can be inverted: any element, any row can be read back (`unpack_row`), so tied
// embeddings need no second copy.
//
// A shard holds `rows` x `k` elements of W[N, K] (y = W x), K starting at `k_origin` of the whole
// tensor. It is cut into panels of 16 rows and blocks of 32 elements of K (the K granule of every
// type); rows and k are padded with zeros to whole panels and blocks. Codes and scales lie apart:
//   codes:  panel 0 [block 0, block 1, ...], panel 1 ..., `codes_panel_bytes()` each
//   scales: panel 0, panel 1, ...,                        `scales_panel_bytes()` each
// Both sizes are multiples of 64 and so is the address of both regions. r = row in the panel (one
// SIMD lane a row), j = element in the block, g = j / 4 (a group is what one int8 dot product
// eats):
//
//   kind   codes of one block                                        scales of one panel
//   kF32   f32 [32 j][16 r]                                   2048 B  none
//   kF16   f16 [32 j][16 r]                                   1024 B  none
//   kBF16  bf16 [16 j/2][16 r][2 j%2]                         1024 B  none
//   kQ8_0  u8 [8 g][16 r][4], code + 128                       512 B  f16 [block][16]
//   kQ4_0  u8 [4 g][16 r][4]: low nibble group g, high g + 4   256 B  f16 [block][16]
//   kQ4_K  as kQ4_0                                            256 B  super: f16 d[16], dmin[16];
//                                                                     then block: u8 sc[16], m[16]
//   kQ5_K  256 B low nibbles as kQ4_0, then 64 B high bits     320 B  as kQ4_K
//          u8 [16 r][4], bit g of a byte
//   kQ6_K  256 B low nibbles as kQ4_0, then 128 B high bits    384 B  super: f16 d[16];
//          u8 [2 g/4][16 r][4], bits 2(g%4).. of a byte               then block: i8 sc[2][16]
//   kI8x32 as kQ8_0                                            512 B  block: f32 scale[16], min[16]
//   kI8x16 as kQ8_0                                            512 B  block: f32 scale[2][16],
//                                                                            min[2][16]
//   kFP8   u8 [8 g][4 r/4][2 j/2%2][4 r%4][2 j%2], E4M3        512 B  super: Fp8Scale
//
// Values: kQ8_0 d (c - 128); kQ4_0 d (c - 8); kQ4_K, kQ5_K d sc c - dmin m;
// kQ6_K d sc[j/16] (c - 32); kI8x32 scale (c - 128) + min; kI8x16 the same with scale and min of
// half j/16; kFP8 scale E4M3(c).
//
// Super-blocks hold 8 blocks (256 elements; kFP8: 4 blocks, 128) counted from the whole tensor's
// K = 0. A shard whose k_origin lies inside one carries that super-block's scales too (lossless):
// block b of the shard belongs to its super-block (b + super_offset()) / 8 (kFP8: / 4). In the
// scales of a panel all supers come first, then all blocks. kI8x32 and kI8x16 carry the types that
// have no kernels of their own without loss: those with one scale per 32 and those with one per 16.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace hearth {

inline constexpr uint32_t kFp8SuperBlocks = 4;

// Holds the scale that 128 columns of a panel share: a panel lies inside one 128 x 128 block of the
// tensor. A row with a NaN among these columns has its bit in nan_rows, so that kernels need not
// look for NaN in the codes: they take NaN for the scale of such a row.
struct Fp8Scale {
  float scale;
  uint32_t nan_rows;  // bit r of row r
};

inline PackKind pack_kind_for(DType dtype) { return dtype_info(dtype).pack; }

// Returns where the kFP8 code of element j of row r lies in its block of a panel. Within 16 bytes
// come four rows' elements 4 g, 4 g + 1 and then their 4 g + 2, 4 g + 3: interleaving the low with
// the high bytes of what they decode to (unpack, zip) gives bf16 pairs, one row a 32-bit lane, in
// order.
constexpr size_t fp8_code_at(size_t r, size_t j) {
  return 64 * (j / 4) + 16 * (r / 4) + 8 * (j / 2 % 2) + 2 * (r % 4) + j % 2;
}

struct PackSpec {
  PackKind kind;
  uint32_t rows;
  uint32_t k;
  uint32_t k_origin;  // a multiple of kBlock

  uint32_t panels() const { return (rows + kPanelRows - 1) / kPanelRows; }
  uint32_t blocks() const { return (k + kBlock - 1) / kBlock; }
  uint32_t super_offset() const { return k_origin / kBlock % pack_kind_info(kind).super_blocks; }
  uint32_t supers() const {
    const uint32_t each = pack_kind_info(kind).super_blocks;
    return (blocks() + super_offset() + each - 1) / each;
  }
  size_t codes_panel_bytes() const;
  size_t scales_panel_bytes() const;
  size_t codes_bytes() const { return panels() * codes_panel_bytes(); }
  size_t scales_bytes() const { return panels() * scales_panel_bytes(); }
};

// Packs panels [panel0, panel0 + panels) of the shard. `source` is row 0 of the shard at K = 0 of
// the whole tensor, in the file's layout of `dtype` (pack_kind_for(dtype) == spec.kind);
// consecutive rows lie `row_stride` bytes apart. `codes` and `scales` are the shard's bases. Pure:
// may run on many threads for disjoint panels. kFP8, whose scales are a tensor of their own, is
// packed by tensor/pack_fp8.h.
void pack_panels(const PackSpec& spec, DType dtype, const std::byte* source, size_t row_stride,
                 uint32_t panel0, uint32_t panels, std::byte* codes, std::byte* scales);

// Points to the 16 rows of a panel, each at K = 0 of the whole tensor; null is a row of padding.
using PanelRows = std::array<const std::byte*, kPanelRows>;

// Packs one panel of the shard the same way, from rows that may lie anywhere.
void pack_panel(const PackSpec& spec, DType dtype, const PanelRows& rows, uint32_t panel,
                std::byte* codes, std::byte* scales);

// Dequantises row `row` of the shard: out[k], in f32 (each product or sum rounded once).
void unpack_row(const PackSpec& spec, const std::byte* codes, const std::byte* scales, uint32_t row,
                float* out);

}  // namespace hearth
