// A PackSpec describes the layout of one shard of a weight matrix in memory for the kernels. The
// layout can be inverted: any row can be read back (`unpack_row`), so tied embeddings need no
// second copy.
//
// A shard holds `rows` x `k` elements of W[N, K] (y = W x), K starting at `k_origin` of the whole
// tensor. It is cut into panels of 16 rows and blocks of 32 elements of K (the K granule of every
// type); rows and k are padded with zeros to whole panels and blocks. Codes and scales lie apart:
//   codes:  panel 0 [block 0, block 1, ...], panel 1 ..., `codes_panel_bytes()` each
//   scales: panel 0, panel 1, ...,                        `scales_panel_bytes()` each
// Both sizes are multiples of 64 and so is the address of both regions. In the table r is the row
// in the panel (one SIMD lane a row), j the element in the block, and g = j / 4. A group g is the 4
// elements that one int8 dot product adds up:
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
//   kQ2_K  u8 [2 g/4][16 r][4]: bits 2(g%4).. of a byte         128 B  super: f16 d[16], dmin[16];
//                                                                     then block: u8 [2][16], low
//                                                                     nibble sc, high m
//   kIQ1_S as kQ2_K                                            128 B  super: f16 d[16];
//                                                                     then block: i8 sc[16]
//   kL4    as kQ4_0                                            256 B  group: scale[16]
//   kL4M   as kQ4_0                                            256 B  group: scale[16], min[16]
//   kL4K   as kQ4_0                                            256 B  super: f16 d[16];
//                                                                     then block: i8 sc[16]
//   kL4H   as kQ4_0                                            256 B  f32 row[16];
//                                                                     then block: E4M3 sc[2][16]
//   kL5    as kQ5_K                                            320 B  as kL4
//   kL5M   as kQ5_K                                            320 B  as kL4M
//   kL8    as kQ8_0                                            512 B  as kL4
//   kL8M   as kQ8_0                                            512 B  as kL4M
//   kL3K   128 B as kQ2_K, then 64 B third bits                192 B  as kL4K
//          u8 [16 r][4], bit g of a byte
//   kL3H   as kL3K                                             192 B  super: f16 d[16];
//                                                                     then block: i8 sc[2][16]
//   kL2    as kQ2_K                                            128 B  as kL4
//   kL1    u8 [16 r][4], bit g of a byte                        64 B  as kL4
//   kFP8   u8 [8 g][4 r/4][2 j/2%2][4 r%4][2 j%2], E4M3        512 B  super: Fp8Scale
//   kFP8R  as kFP8                                             512 B  super: f32 [16]
//
// Values: kQ8_0 d (c - 128); kQ4_0 d (c - 8); kQ4_K, kQ5_K d sc c - dmin m;
// kQ6_K d sc[j/16] (c - 32); kFP8, kFP8R scale E4M3(c); with T the form's table (CodeTable) and f
// its factor:
//   kL4  scale f T[c]    kL4K, kL3K  d f sc T[c]          kL4H  row f sc[j/16] T[c]
//   kL5  scale (c - 16)  kL3H        d f sc[j/16] T[c]    kL4M, kL5M  scale c + min
//   kL8  scale (c - 128)                                  kL8M  scale (c - 128) + min
//   kL2  scale (c - 1)   kQ2_K  d sc[j/16] c - dmin m[j/16]
//   kL1  scale (2 c - 1)     kIQ1_S  d |sc| (c - 1) + d sc / 8
//
// A super-block has 8 blocks (256 elements), for FP8 4 blocks (128), counted from K = 0 of the
// whole tensor. Groups are super-blocks with as many blocks as the form says, and the form also
// says how scale and min are stored. If k_origin lies inside a super-block, the shard has that
// super-block's scales too, so no scale changes. Block b of the shard belongs to its super-block (b
// + super_offset()) / 8 (FP8: / 4). In the scales of a panel all super-blocks come first, then all
// blocks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tensor/dtype.h"

namespace hearth {

inline constexpr uint32_t kFp8SuperBlocks = 4;

// The scale that all rows of a panel share for 128 columns. A row with a NaN among these columns
// has its bit in nan_rows, and kernels take NaN as its scale. So they need not look for NaN in the
// codes. In kFP8R, where each row has its own scale, the scale of such a row is NaN. So all values
// of these columns that are read back are NaN.
struct Fp8Scale {
  float scale;
  uint32_t nan_rows;  // bit r of row r
};

inline PackKind pack_kind_for(DType dtype) { return dtype_info(dtype).pack; }
inline const PackForm& pack_form_for(DType dtype) { return dtype_info(dtype).form; }

// The type of the rows that a matrix is packed from, and the kind and form of its pack. Kind and
// form are the type's own ones, or kFP8R for FP8, or those of codes that no DType stands for.
struct PackedType {
  // NOLINTNEXTLINE(google-explicit-constructor): nearly all types have one kind
  PackedType(DType type) : PackedType(type, pack_kind_for(type)) {}
  PackedType(DType type, PackKind as) : dtype(type), kind(as), form(pack_form_for(type)) {}
  // Makes the type of codes with `bits` bits that no DType stands for. `type` is a type that their
  // rows can be read as.
  PackedType(DType type, PackKind as, const PackForm& of, uint32_t bits)
      : dtype(type), kind(as), form(of), code_bits(bits) {}
  // Returns the name of the type, or of the pack kind if that is not the type's own.
  std::string_view name() const;

  // Returns the bytes of a source row of `elements` elements. Scales of codes that no DType stands
  // for are not counted.
  size_t source_row_bytes(size_t elements) const;

  bool operator==(const PackedType&) const = default;

  DType dtype;
  PackKind kind;
  PackForm form;
  uint32_t code_bits = 0;
};

constexpr bool is_fp8(PackKind kind) { return kind == PackKind::kFP8 || kind == PackKind::kFP8R; }

// Returns the place of the FP8 code of element j of row r in its block of a panel. 16 bytes hold
// elements 4 g, 4 g + 1 of four rows, and then their elements 4 g + 2, 4 g + 3. So interleaving the
// low with the high bytes of the decoded values (unpack, zip) gives bf16 pairs in order, one row in
// each 32-bit lane.
constexpr size_t fp8_code_at(size_t r, size_t j) {
  return 64 * (j / 4) + 16 * (r / 4) + 8 * (j / 2 % 2) + 2 * (r % 4) + j % 2;
}

struct PackSpec {
  PackKind kind;
  uint32_t rows;
  uint32_t k;
  uint32_t k_origin;  // a multiple of kBlock
  PackForm form = {};

  uint32_t panels() const { return (rows + kPanelRows - 1) / kPanelRows; }
  uint32_t blocks() const { return (k + kBlock - 1) / kBlock; }
  uint32_t super_blocks() const {
    const PackKindInfo& info = pack_kind_info(kind);
    return info.grouped ? form.group_blocks : info.super_blocks;
  }
  uint32_t super_offset() const { return k_origin / kBlock % super_blocks(); }
  uint32_t supers() const {
    return (blocks() + super_offset() + super_blocks() - 1) / super_blocks();
  }
  size_t codes_panel_bytes() const;
  size_t scales_panel_bytes() const;
  size_t codes_bytes() const { return panels() * codes_panel_bytes(); }
  size_t scales_bytes() const { return panels() * scales_panel_bytes(); }
};

// Returns the pack spec of a shard of a matrix with this type.
inline PackSpec pack_spec_for(const PackedType& type, uint32_t rows, uint32_t k,
                              uint32_t k_origin = 0) {
  return {type.kind, rows, k, k_origin, type.form};
}

// Returns the bytes of one scale.
size_t form_bytes(ScaleForm form);

// Returns the bytes of one group's scales and, where the kind has them, minima.
size_t group_bytes(const PackKindInfo& kind, const PackForm& form);

// Packs panels [panel0, panel0 + panels) of the shard. `source` is row 0 of the shard at K = 0 of
// the whole tensor, in the file's layout of `dtype` (pack_kind_for(dtype) == spec.kind).
// Consecutive rows lie `row_stride` bytes apart. `codes` and `scales` are the shard's bases. The
// function is pure, so many threads may pack disjoint panels. tensor/pack_fp8.h packs FP8, whose
// scales are a tensor of their own. Rows of kL4H are multiplied by `scale`, which is 1 for other
// kinds.
void pack_panels(const PackSpec& spec, DType dtype, const std::byte* source, size_t row_stride,
                 uint32_t panel0, uint32_t panels, std::byte* codes, std::byte* scales,
                 float scale = 1);

// Points to the 16 rows of a panel, each at K = 0 of the whole tensor; null is a row of padding.
using PanelRows = std::array<const std::byte*, kPanelRows>;

// Packs one panel of the shard like pack_panels(), from rows that may lie anywhere.
void pack_panel(const PackSpec& spec, DType dtype, const PanelRows& rows, uint32_t panel,
                std::byte* codes, std::byte* scales, float scale = 1);

// Reads blocks of 32 columns of a panel's rows, for rows that are not in a type's layout.
class BlockReader {
 public:
  virtual ~BlockReader() = default;
  // Fills `codes` and `stored` of the given block of row r of the panel. Blocks are counted from K
  // = 0 of the whole tensor. Each code is a value of the kind (for kL8M code - 128) plus kCodeZero.
  virtual void read(size_t r, size_t block, CodeBlock& out) const = 0;
  // Returns the factor of row r for kL4H.
  virtual float scale(size_t) const { return 1; }
};

// Packs one panel, of a kind of tensor/pack_tables.cc, from the blocks that `reader` gives. These
// are the blocks of the first `rows` rows of the panel; the other rows are padding.
void pack_panel(const PackSpec& spec, const BlockReader& reader, uint32_t rows, uint32_t panel,
                std::byte* codes, std::byte* scales);

// Dequantises row `row` of the shard to out[k], in f32. Each product and each sum rounds once.
void unpack_row(const PackSpec& spec, const std::byte* codes, const std::byte* scales, uint32_t row,
                float* out);

}  // namespace hearth
