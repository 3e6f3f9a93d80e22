// Attention of query rows of one KV head over paged keys and values, and the KV page layout.
//
// A page holds kPagePositions positions of one KV head. D = head_dim padded to 16:
//   K: T [D][64 positions]     q8_0: i8 [D / 2][64][2], then f16 scale [ceil(D / 32)][64]
//   V: T [64 positions][D]     q8_0: i8 [32][D][2],     then f16 scale [ceil(D / 32)][64]
// One SIMD lane is one position in K and one element in V, so neither product sums across lanes; of
// q8_0 it holds two elements of the position, and two positions of the element, which one product
// of int16 takes in. A q8_0 block is 32 consecutive elements of the head (the last one may be
// half), scale = amax / 127 rounded to f16, codes round-to-nearest-even(x / scale) clamped to
// [-127, 127], all 0 where the scale is 0. Storing a position writes its padding too, as zeros.
//
// The numerical contract: a query's result depends on nothing but the query, the keys and values it
// sees and their absolute positions; every ISA level gives the same bits. For one row, with
// exp = exp_nonpositive (kernels/simd/exp.h), n-th slot of a page = position 64 page + n:
//
//   score of a slot    qs[d] = q[d] * scale, s = 0, then s = fma(qs[d], k[d], s) for ascending d
//   page               m' = max(m, s of the visible slots); p = exp(s - m'), 0 for other slots;
//                      f = exp(m - m'); acc[d] *= f; sum[l] = fma(sum[l], f,
//                      ((p[l] + p[l + 16]) + p[l + 32]) + p[l + 48]) for lanes l < 16;
//                      acc[d] = fma(p, v[d], acc[d]) for ascending visible slots; m = m'
//   span               kSpanPages pages, counted from position 0: starts with m = -inf,
//                      sum = acc = 0 and ends with L = the lanes of sum added by halves
//                      (l + l+8, then + 4, 2, 1)
//   merge of a span    M' = max(M, m); F = exp(M - M'); f = exp(m - M');
//                      A[d] = fma(A[d], F, acc[d] * f); S = fma(S, F, L * f), in ascending order
//                      from M = -inf, S = A = 0; a span of which the row sees nothing is left out
//   result             out[d] = A[d] * (1 / S)
//
// For q8_0 the products are those of integers, which are exact: queries, and probabilities times
// the scales of values, become int16 (round to nearest even), whose steps are 2^-15 of the largest
// that they stand beside, where those of the codes are 2^-7. All else is as above:
//
//   query              a = max |qs[d]|, q16[d] = round(qs[d] * (32767 / a)), all 0 where
//                      a < 2^-100; unit = a * (1 / 32767) + (the sum of 0 * qs[d])
//   score of a slot    s = 0, then s = fma(float(sum of q16[d] * code), k scale, s) for ascending
//                      blocks; then s *= unit
//   values of a page   for each block x = p * v scale of the visible slots, b = max x,
//                      w = round(x * (32767 / b)), all 0 where b < 2^-100;
//                      acc[d] = fma(float(sum of w * code), b * (1 / 32767) + Z, acc[d]), Z = the
//                      sum of 0 * x over all blocks
//
// What is not finite among what a row sees makes its result NaN (the sums of zeros are there for
// that), of no certain bits. Pages of which a row sees nothing don't touch it, and nobody reads a
// page that no row sees: its pointers may be null. Slots that no row sees may hold anything. So the
// same bits come out for any set of rows in a call and any order of them, and for spans that
// several calls visit (`sums`) and merge_spans puts together.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/limits/limits.h"

namespace hearth {

enum class KvType : uint8_t { kF32, kF16, kBF16, kQ8_0 };
inline constexpr size_t kKvTypes = 4;
inline constexpr uint32_t kPagePositions = 64;
inline constexpr uint32_t kSpanPages = 8;
inline constexpr uint32_t kKvBlock = 32;

const char* kv_type_name(KvType type);  // "f16"
// The unit that attention over keys and values of `type` runs on, where there is one; else FP32
// FMA.
Unit unit_for(KvType type, const UnitSet& units);

constexpr uint32_t padded_head_dim(uint32_t head_dim) { return (head_dim + 15) / 16 * 16; }
constexpr uint32_t kv_blocks(uint32_t head_dim) { return (head_dim + kKvBlock - 1) / kKvBlock; }
// Where the scales start in either half of a q8_0 page.
constexpr size_t kv_scales_offset(uint32_t head_dim) {
  return size_t{kPagePositions} * padded_head_dim(head_dim);
}

// Bytes of the K half and of the V half of a page for one head: multiples of 64.
size_t kv_half_bytes(KvType type, uint32_t head_dim);

struct KvPage {
  std::byte* k;
  std::byte* v;
};

struct KvStoreArgs {
  const float* k;  // [head_dim], after norm and RoPE
  const float* v;  // [head_dim]
  uint32_t head_dim;
  KvPage page;
  uint32_t slot;  // position % kPagePositions
};
using KvStoreFn = void (*)(const KvStoreArgs&);
// Fetches the lines that storing the elements of a position in `slot` writes: one for each element
// of the key, of q8_0 for two.
void prefetch_slot(KvType type, uint32_t head_dim, const KvPage& page, uint32_t slot);

// Bytes of scratch (64-byte aligned) that any attend call may use.
inline constexpr size_t kAttendScratchBytes = size_t{384} << 10;
inline constexpr uint32_t kMaxHeadDim = 512;
// Query rows per call, at most; callers cut longer lists.
inline constexpr uint32_t kMaxQueryRows = 64;

// What rows have of a span (acc, L and m of the contract), or of the spans merged so far (A, S, M).
struct RowSums {
  float* acc;   // [rows][D]
  float* sum;   // [rows]
  float* peak;  // [rows]
};
// Floats of the RowSums of so many rows, a multiple of 16, and the RowSums laid over them.
size_t row_sums_floats(uint32_t rows, uint32_t head_dim);
RowSums row_sums(float* base, uint32_t rows, uint32_t head_dim);

struct AttendArgs {
  const float* q;            // row i at q + q_offset[i], head_dim floats, 4-byte aligned
  const size_t* q_offset;    // [rows]
  const uint32_t* last;      // [rows]: the last position row i sees
  uint32_t rows;             // 1 .. kMaxQueryRows
  uint32_t window;           // row i sees (last - window, last]; 0: from position 0
  const KvPage* pages;       // pages[p / kPagePositions] holds position p of this head
  uint32_t head_dim;         // 1 .. kMaxHeadDim
  float scale;               // 1 / sqrt(head_dim), or what the model says
  float* out;                // row i at out + out_offset[i], head_dim floats
  const size_t* out_offset;  // [rows]
  std::byte* scratch;
  // To visit the spans [span0, span1) alone: what each of them gives is left here, one
  // row_sums_floats(rows, head_dim) after the other, 64-byte aligned, and `out` as it is. Null:
  // all spans, merged into `out`.
  float* sums = nullptr;
  uint32_t span0 = 0, span1 = 0;
  // The page that the caller visits after these, to prefetch: another head's first. Null: none.
  KvPage after = {};
  // Prefetch a page from four places in turn, not from its beginning to its end.
  bool four_places = false;
};
using AttendFn = void (*)(const AttendArgs&);

// Merges spans that attend left in `sums` with those before them.
struct MergeArgs {
  float* sums;  // of `spans` spans, ascending
  uint32_t spans;
  uint32_t rows;
  uint32_t head_dim;
  float* merged;             // row_sums_floats(rows, head_dim): of the spans before
  bool first;                // there are none: `merged` holds nothing yet
  float* out;                // null: more spans follow. Row i at out + out_offset[i]
  const size_t* out_offset;  // [rows]
};
using MergeFn = void (*)(const MergeArgs&);

}  // namespace hearth
