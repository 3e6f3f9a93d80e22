// Attention of query rows of one KV head over paged keys and values, and the KV page layout.
//
// A page holds kPagePositions positions of one KV head: a half of keys and a half of values. Their
// lengths may differ. D = key_length, E = value_length, each padded to 16:
//   K: T [D][64 positions]     q8_0: i8 [D / 2][64][2], then f16 scale [ceil(D / 32)][64]
//   V: T [64 positions][E]     q8_0: i8 [32][E][2],     then f16 scale [ceil(E / 32)][64]
// Queries are as long as keys, results as values. One SIMD lane is one position in K and one
// element in V, so neither product sums across lanes. With q8_0 a lane holds two elements of the
// position in K, and two positions of the element in V, for one product of int16. A q8_0 block is
// 32 consecutive elements of a key or a value (the last one may be half), scale = amax / 127
// rounded to f16, codes round-to-nearest-even(x / scale) clamped to [-127, 127]. Codes are all 0
// where the scale is 0, and where an element is not finite: then the scale is NaN. Storing a
// position writes its padding too, as zeros.
//
// The numerical contract: a query's result depends on nothing but the query, the keys and values it
// sees and their absolute positions; every ISA level gives the same bits. For one row, with exp =
// exp_nonpositive (kernels/simd/exp.h), n-th slot of a page = position 64 page + n:
//
//   score of a slot    qs[d] = q[d] * scale, s = 0, then s = fma(qs[d], k[d], s) for ascending d;
//                      where rows have slopes, then s = fma(-slope, |i - j|, s), i the row's own
//                      position and j the slot's, whether before, at or behind it
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
//   sink               where rows have sinks, after the last span: s the row's sink, a score that
//                      takes a share of the row and has no value; M' = max(M, s);
//                      F = exp(M - M'); f = exp(s - M'); A[d] *= F; S = fma(S, F, f)
//   result             out[d] = A[d] * (1 / S)
//
// For q8_0 the products are those of integers, which are exact. Queries, and probabilities times
// the scales of values, become int16 (round to nearest even). Their steps are 2^-15 of the largest
// number that they are rounded with, while those of the codes are 2^-7. Only these lines of the
// contract differ:
//
//   query              a = max |qs[d]|, q16[d] = round(qs[d] * (32767 / a)), all 0 where
//                      a < 2^-100; unit = a * (1 / 32767) + (the sum of 0 * qs[d])
//   score of a slot    s = 0, then s = fma(float(sum of q16[d] * code), k scale, s) for ascending
//                      blocks; then s *= unit, and the slope's part as above
//   values of a page   for each block x = p * v scale of the visible slots, b = max x,
//                      w = round(x * (32767 / b)), all 0 where b < 2^-100;
//                      acc[d] = fma(float(sum of w * code), b * (1 / 32767) + Z, acc[d]), Z = the
//                      sum of 0 * x over all blocks
//
// If any number that a row sees is not finite, the row's result is NaN, with any bits. The sums of
// zeros serve this. Pages of which a row sees nothing do not change its result. A page that no row
// sees is not read: its pointers may be null. Slots that no row sees may hold anything. So the same
// bits come out for any set of rows in a call and any order of them, and for spans that several
// calls visit (`sums`) and merge_spans then merges.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/limits/limits.h"

namespace hearth {

enum class KvType : uint8_t { kF32, kF16, kBF16, kQ8_0 };
inline constexpr size_t kKvTypes = 4;
inline constexpr uint32_t kPagePositions = 64;
// Returns the number of pages that hold so many positions.
constexpr uint32_t pages_for(uint32_t positions) {
  return positions / kPagePositions + (positions % kPagePositions == 0 ? 0 : 1);
}
inline constexpr uint32_t kSpanPages = 8;
inline constexpr uint32_t kSpanPositions = kSpanPages * kPagePositions;
inline constexpr uint32_t kKvBlock = 32;

const char* kv_type_name(KvType type);  // "f16"
// Returns the unit that attention over keys and values of `type` uses. It is FP32 FMA if the level
// lacks that unit.
ArithmeticUnit arithmetic_unit_for(KvType type, const ArithmeticUnitSet& units);

// padded_length() returns the length with padding of a key or a value of `length` elements, and
// kv_blocks() the number of its q8_0 blocks.
constexpr uint32_t padded_length(uint32_t length) { return (length + 15) / 16 * 16; }
constexpr uint32_t kv_blocks(uint32_t length) { return (length + kKvBlock - 1) / kKvBlock; }
// Returns the offset of the scales in a half of a q8_0 page.
constexpr size_t kv_scales_offset(uint32_t length) {
  return size_t{kPagePositions} * padded_length(length);
}

// Returns the bytes of a half of a page, for one head, with keys or values of this length: a
// multiple of 64.
size_t kv_half_bytes(KvType type, uint32_t length);

struct KvPage {
  std::byte* k;
  std::byte* v;
};

struct KvStoreArgs {
  const float* k;  // [key_length], after norm and RoPE
  const float* v;  // [value_length]
  uint32_t key_length, value_length;
  KvPage page;
  uint32_t slot;  // position % kPagePositions
};
using KvStoreFn = void (*)(const KvStoreArgs&);
// Prefetches the cache lines that storing a position in `slot` writes. There is one line for each
// element of the key; with q8_0 one for two elements.
void prefetch_slot(KvType type, uint32_t key_length, uint32_t value_length, const KvPage& page,
                   uint32_t slot);

// The most scratch that an attend call may use, in bytes (64-byte aligned).
inline constexpr size_t kAttendScratchBytes = size_t{384} << 10;
inline constexpr uint32_t kMaxHeadDim = 512;  // the most elements of a key or a value
// The most query rows of a call; callers cut longer lists.
inline constexpr uint32_t kMaxQueryRows = 64;

// The sums of rows over a span (acc, L and m of the contract), or over the spans merged so far (A,
// S, M).
struct RowSums {
  float* acc;   // [rows][E]
  float* sum;   // [rows]
  float* peak;  // [rows]
};
// row_sums_floats() returns how many floats the RowSums of `rows` rows take, a multiple of 16.
// row_sums() lays such RowSums over `base`.
size_t row_sums_floats(uint32_t rows, uint32_t value_length);
RowSums row_sums(float* base, uint32_t rows, uint32_t value_length);

struct AttendArgs {
  const float* q;            // row i at q + q_offset[i], key_length floats, 4-byte aligned
  const size_t* q_offset;    // [rows]: offset of row i in q
  const uint32_t* last;      // [rows]: the last position row i sees
  uint32_t rows;             // 1 .. kMaxQueryRows
  uint32_t window;           // row i sees (last - window, last]; 0: from position 0
  const KvPage* pages;       // pages[p / kPagePositions] holds position p of this head
  uint32_t key_length;       // 1 .. kMaxHeadDim
  uint32_t value_length;     // 1 .. kMaxHeadDim
  float scale;               // 1 / sqrt(key_length), or the model's own
  float* out;                // row i at out + out_offset[i], value_length floats
  const size_t* out_offset;  // [rows]
  std::byte* scratch;
  // If the call is to visit only the spans [span0, span1), the place for their sums:
  // row_sums_floats(rows, value_length) for each span, 64-byte aligned; `out` is then left
  // unchanged. If null, the call visits all spans and merges them into `out`.
  float* sums = nullptr;
  uint32_t span0 = 0, span1 = 0;
  // The page to prefetch: another head's first page, which the caller visits next. Null: none.
  KvPage after = {};
  // Whether to prefetch a page from four places in turn, and not from its beginning to its end.
  bool four_places = false;
  // ALiBi (Press et al. 2022), [rows] each: the slope of a row, which is finite, and the row's own
  // position. The position may lie outside the positions that the row sees. Both are null if rows
  // have no slopes. Positions are below 2^24.
  const float* slope = nullptr;
  const uint32_t* position = nullptr;
  // [rows]: a row's sink, which is finite. Null: none. It is used only if `sums` is null.
  const float* sink = nullptr;
};
using AttendFn = void (*)(const AttendArgs&);

// Merges the sums of spans that attend wrote to `sums` with the merged sums of all earlier spans.
struct MergeArgs {
  float* sums;  // of `spans` spans, ascending
  uint32_t spans;
  uint32_t rows;
  uint32_t value_length;
  float* merged;             // row_sums_floats(rows, value_length): the spans before
  bool first;                // no spans come before: `merged` holds nothing yet
  float* out;                // row i at out + out_offset[i]; null if more spans follow
  const size_t* out_offset;  // [rows]
  // [rows], as AttendArgs::sink. It is used only if `out` is not null, since then no span follows.
  const float* sink = nullptr;
};
using MergeFn = void (*)(const MergeArgs&);

}  // namespace hearth
