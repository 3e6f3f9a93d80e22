// Attention over latents (multi-head latent attention, MLA: DeepSeek-V2, 2024), and their pages.
//
// All heads share one key and one value a position. The key is the latent followed by the elements
// that RoPE turned, D = key_length elements in all. The value is the key's first E = value_length
// elements. So a page holds only the keys, position after position, D padded to 16:
//   T [64 positions][D]     q8_0: i8 [64][D], then f16 scale [64][ceil(D / 32)]
// It takes kv_half_bytes(type, D) bytes; blocks, scales and codes of q8_0 are those of
// kernels/attention/attention.h, and an element is code * scale, which f32 holds exactly.
//
// The kernels take the arguments of attention.h. KvPage::k is the page, and v is not used. Rows (up
// to kMaxLatentRows) are the queries of many heads, whose result is a mix of latents. There are no
// windows, slopes and sinks. `sums` must always be set, and merge_spans merges the spans.
//
// The numerical contract is that of f32 keys and values in attention.h, with the elements of the
// page as f32.
//
// With 128 heads there are 242 operations for each byte of an f16 page, so the speed of arithmetic
// is the limit. A page becomes floats once for all rows, transposed for the scores and in order for
// the values. Both products go through it in blocks that stay in the first-level cache.
#pragma once

#include "kernels/attention/attention.h"

namespace hearth {

inline constexpr uint32_t kMaxLatentRows = 128;
inline constexpr uint32_t kMaxLatentKey = 640;            // D
inline constexpr uint32_t kMaxLatentValue = kMaxHeadDim;  // E

// Bytes of scratch (64-byte aligned) that a call may use.
inline constexpr size_t kLatentScratchBytes = size_t{648} << 10;

// The layout of an expanded page: keys f32 [D][64 positions], D padded to 16 by zeros; values in
// columns, f32 [ceil(E / 64)][64 positions][64].
inline constexpr uint32_t kLatentValueColumns = 64;
constexpr size_t expanded_key_floats(uint32_t key_length) {
  return size_t{kPagePositions} * padded_length(key_length);
}
constexpr size_t expanded_value_floats(uint32_t value_length) {
  return size_t{kPagePositions} * ((value_length + 63) / 64 * 64);
}

// The layout of a head's matrices for expand_latent, both f32, latents padded to 16 by zeros: key
// in tiles of kExpandRows rows (the last may have fewer), [latent / 16][rows of the tile][16];
// value in columns of 64, [ceil(E / 64)][latent][64].
inline constexpr uint32_t kExpandRows = 6;
constexpr size_t expand_key_floats(uint32_t nope_length, uint32_t kv_lora_rank) {
  return size_t{nope_length} * padded_length(kv_lora_rank);
}
constexpr size_t expand_value_floats(uint32_t value_length, uint32_t kv_lora_rank) {
  return size_t{padded_length(kv_lora_rank)} * ((value_length + 63) / 64 * 64);
}
// Returns the index of row d's element i in the key's matrix.
constexpr size_t expand_key_at(uint32_t nope_length, uint32_t kv_lora_rank, uint32_t d,
                               uint32_t i) {
  const uint32_t row0 = d / kExpandRows * kExpandRows;
  const uint32_t left = nope_length - row0, rows = left < kExpandRows ? left : kExpandRows;
  return size_t{row0} * padded_length(kv_lora_rank) + (size_t{i / 16} * rows + (d - row0)) * 16 +
         i % 16;
}
constexpr size_t expand_value_at(uint32_t kv_lora_rank, uint32_t e, uint32_t i) {
  return (size_t{e / 64} * padded_length(kv_lora_rank) + i) * 64 + e % 64;
}

struct ExpandArgs {
  const std::byte* page;  // a page of latents
  uint32_t slots;         // expands [0, slots); slots behind may get any values
  uint32_t kv_lora_rank, rope_length, nope_length, value_length;
  const float *key, *value;  // the head's matrices
  float *keys, *values;      // the expanded page
  std::byte* scratch;        // kLatentScratchBytes
  const std::byte* next;     // a page to prefetch, or null
};
using ExpandFn = void (*)(const ExpandArgs&);
// attend_expanded takes up to kMaxLatentRows rows and one span. `pages` lists only the expanded
// pages of this span.

}  // namespace hearth
