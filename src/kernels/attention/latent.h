// Attention over latents (multi-head latent attention, MLA: DeepSeek-V2, 2024), and their pages.
//
// All heads share one key and one value a position. The key is the latent with what RoPE turned
// behind it, D = key_length elements in all; the value is the key's first E = value_length
// elements. So a page holds them once, position after position, D padded to 16:
//   T [64 positions][D]     q8_0: i8 [64][D], then f16 scale [64][ceil(D / 32)]
// It takes kv_half_bytes(type, D) bytes; blocks, scales and codes of q8_0 are those of
// kernels/attention/attention.h, and an element is code * scale, which f32 holds exactly.
//
// The kernels take the arguments of attention.h: KvPage::k is the page, v is not looked at. Rows
// (up to kMaxLatentRows) are the queries of many heads, whose result is a mix of latents. There are
// no windows and no slopes, and `sums` is always wanted: merge_spans puts the spans together.
//
// The numerical contract is that of f32 keys and values in attention.h, with the elements of the
// page as f32.
//
// With 128 heads there are 242 operations for each byte of an f16 page, so arithmetic is the bound:
// a page becomes floats once for all rows, transposed for the scores and in order for the values,
// and both products go through it in blocks that stay in the first-level cache.
#pragma once

#include "kernels/attention/attention.h"

namespace hearth {

inline constexpr uint32_t kMaxLatentRows = 128;
inline constexpr uint32_t kMaxLatentKey = 640;            // D
inline constexpr uint32_t kMaxLatentValue = kMaxHeadDim;  // E

// Bytes of scratch (64-byte aligned) that a call may use.
inline constexpr size_t kLatentScratchBytes = size_t{648} << 10;

// Fetches the lines that storing a position in `slot` writes.
void prefetch_latent(KvType type, uint32_t key_length, const std::byte* page, uint32_t slot);

}  // namespace hearth
