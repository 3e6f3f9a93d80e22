// Defines the formats of activations that GEMM kernels read, and the functions that make them.
//
// kQ8: per 32 consecutive elements of a row (from the shard's K origin) one f32 scale amax / 127
// and int8 codes round-to-nearest-even(x * (127 / amax)) in [-127, 127]; an all-zero block has
// scale 0 and codes 0. Beside them lie the sums that kernels need. With s[h] the exact sum of the
// codes of half h, these are
//   bias32 = -128 (s[0] + s[1])        bias16[h] = -128 s[h]        (for codes stored + 128)
//   sum32  = scale * float(s[0] + s[1])  sum16[h] = scale * float(s[h])   (for minima)
// The last block is padded with zeros. Every ISA level gives the same bits.
//
// Two kinds of blocks are special. A block whose amax is below kQ8MinAmax (127 / amax would
// overflow) counts as all zero. A block with an infinity or a NaN gets codes 0, biases 0 and the
// quiet NaN as scale and sums, so that the NaN appears in every output that the block takes part
// in.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/fp_types.h"

namespace hearth {

enum class ActFormat : uint8_t { kF32, kBF16, kQ8 };
inline constexpr size_t kActFormats = 3;
inline constexpr float kQ8MinAmax = 0x1p-118f;

// M rows of activations. Rows are padded with zeros to whole blocks of 32 and lie `row_stride`
// elements apart (a multiple of 32). In arrays with an entry for each block (or half block) rows
// lie row_stride / 32 (or / 16) entries apart. Only the members of the format are set. 64-byte
// aligned.
struct ActView {
  const float* f32;
  const bf16_t* bf16;
  const int8_t* codes;
  const float* scale;     // [M][row_stride / 32]
  const int32_t* bias32;  // [M][row_stride / 32]
  const float* sum32;     // [M][row_stride / 32]
  const int32_t* bias16;  // [M][row_stride / 16]
  const float* sum16;     // [M][row_stride / 16]
  size_t row_stride;
};

// An ActView that can be written to.
struct ActBuffer {
  float* f32;
  bf16_t* bf16;
  int8_t* codes;
  float* scale;
  int32_t* bias32;
  float* sum32;
  int32_t* bias16;
  float* sum16;
  size_t row_stride;
};

// act_bytes() returns the bytes of `m` rows of `k` elements in `format`, and act_buffer() the
// buffer laid over `base` (64-byte aligned).
size_t act_bytes(ActFormat format, size_t m, size_t k);
ActBuffer act_buffer(ActFormat format, std::byte* base, size_t m, size_t k);
ActView act_view(const ActBuffer& buffer);
// Returns the view that begins at row `row` and block `block`. If `block` is negative, block 0 of
// `view` is block -block of the result.
ActView act_rows(const ActView& view, size_t row, ptrdiff_t block);

// Copies row `row` of `from` into row `to_row` of `to`; both hold rows of one length in one format.
void copy_act_row(ActFormat format, const ActView& from, size_t row, const ActBuffer& to,
                  size_t to_row);

struct QuantizeArgs {
  const float* x;  // [count]: elements [first, first + count) of one row
  uint32_t first;  // a multiple of 32
  uint32_t count;  // padded with zeros to a multiple of 32 in the output
  ActBuffer out;
  size_t row;
};

// There is one function per format (kF32 copies, kBF16 rounds, kQ8 quantises).
using QuantizeFn = void (*)(const QuantizeArgs&);

}  // namespace hearth
