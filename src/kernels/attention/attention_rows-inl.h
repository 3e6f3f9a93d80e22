// The rows of a call of attention: their data in scratch, how they are cut into tiles, and which
// slots of a page they see. ISA files include it after their Vec16.
#pragma once

#include "kernels/attention/attention.h"
#include "kernels/attention/attention_merge-inl.h"
#include "kernels/attention/attention_tiles-inl.h"
#include "kernels/attention/kv_format-inl.h"

namespace hearth {
namespace {

// Returns the slots of page `page` that a row sees, given the first and last position that it sees.
inline SlotRange visible_slots(uint32_t first, uint32_t last, uint32_t page) {
  uint32_t origin = page * kPagePositions;
  if (last < origin || first >= origin + kPagePositions) return {0, 0};
  return {first > origin ? first - origin : 0, smaller(last - origin + 1, kPagePositions)};
}

inline uint32_t first_seen(uint32_t last, uint32_t window) {
  return window == 0 || last < window ? 0 : last - window + 1;
}

constexpr uint32_t kPageVectors = kPagePositions / kLanes;

// The data of a block of rows, kept while the call visits page after page. All of it lies in the
// call's scratch.
struct RowBlock {
  const uint32_t* last;
  uint32_t rows;
  uint32_t window;
  uint32_t key_length, value_length;
  uint32_t key_stride, value_stride;  // the same, padded
  float* q;     // scaled, or int16 of it; tile after tile [d / 16][rows of the tile][16]
  float* unit;  // [rows]: the value of one step of these int16
  RowSums span;
  float* lanes;  // [rows][16]: the span's sums
  RowSums merged;
  float* scores;    // [rows][64], then probabilities
  float* unpacked;  // [64][stride]: a half of a page as floats, or the shares
  KvPage after;     // AttendArgs::after
  bool four_places;
  const float* slope;  // AttendArgs::slope and position, from the block's first row on
  const uint32_t* position;
  uint32_t seen;  // [0, seen) are the positions that some row sees
};

// Returns how many floats of scratch a RowBlock of `rows` rows takes. `stride` is the larger of
// key_stride and value_stride.
constexpr size_t scratch_floats(size_t rows, size_t stride) {
  return rows * (3 * stride + kLanes + 5 + kPagePositions) + kPagePositions * stride + 5 * kLanes;
}
constexpr uint32_t block_rows(uint32_t stride) { return stride <= 256 ? kMaxQueryRows : 36; }
static_assert(scratch_floats(block_rows(256), 256) * sizeof(float) <= kAttendScratchBytes);
static_assert(scratch_floats(block_rows(512), 512) * sizeof(float) <= kAttendScratchBytes);

inline RowBlock make_block(const AttendArgs& a, uint32_t row0, uint32_t rows) {
  RowBlock b{};
  b.last = a.last + row0;
  b.after = row0 + rows == a.rows ? a.after : KvPage{};
  b.four_places = a.four_places;
  if (a.slope != nullptr) {
    b.slope = a.slope + row0;
    b.position = a.position + row0;
  }
  for (uint32_t i = 0; i < rows; ++i) b.seen = larger(b.seen, b.last[i] + 1);
  b.rows = rows;
  b.window = a.window;
  b.key_length = a.key_length;
  b.value_length = a.value_length;
  b.key_stride = padded_length(a.key_length);
  b.value_stride = padded_length(a.value_length);
  float* next = reinterpret_cast<float*>(a.scratch);
  auto take = [&](size_t floats) {
    float* taken = next;
    next += (floats + kLanes - 1) / kLanes * kLanes;
    return taken;
  };
  b.q = take(size_t{rows} * b.key_stride);
  const size_t sums = row_sums_floats(rows, a.value_length);
  b.span = row_sums(take(sums), rows, a.value_length);
  b.merged = row_sums(take(sums), rows, a.value_length);
  b.lanes = take(size_t{rows} * kLanes);
  b.scores = take(size_t{rows} * kPagePositions);
  b.unit = take(rows);
  b.unpacked = take(size_t{kPagePositions} * larger(b.key_stride, b.value_stride));
  return b;
}

struct Tile {
  uint32_t row0, rows;
};
inline uint32_t tile_count(uint32_t rows) { return (rows + kTileRows - 1) / kTileRows; }
// Returns tile `index`. Tiles are as even as possible: two tiles of 4 rows are faster than one of 6
// and one of 2.
inline Tile tile_at(uint32_t rows, uint32_t index) {
  uint32_t tiles = tile_count(rows);
  uint32_t begin = rows * index / tiles;
  return {begin, rows * (index + 1) / tiles - begin};
}

// The function is inlined by force for the same reason as prefetch_l2().
[[gnu::always_inline]] inline void prefetch_query(const AttendArgs& a, uint32_t row) {
  if (row >= a.rows) return;
  prefetch_bytes(reinterpret_cast<const std::byte*>(a.q + a.q_offset[row]),
                 a.key_length * sizeof(float));
}

// Calls fn(tile, row of the tile, query) for all rows, and prefetches the queries of rows to come,
// which lie far apart in memory.
template <typename Fn>
inline void for_queries(const AttendArgs& a, uint32_t row0, const RowBlock& b, Fn&& fn) {
  constexpr uint32_t kAhead = 8;
  for (uint32_t r = 0; r < kAhead; ++r) prefetch_query(a, row0 + r);
  for (uint32_t t = 0; t < tile_count(b.rows); ++t) {
    const Tile tile = tile_at(b.rows, t);
    for (uint32_t r = 0; r < tile.rows; ++r) {
      const uint32_t row = row0 + tile.row0 + r;
      prefetch_query(a, row + kAhead);
      fn(tile, r, a.q + a.q_offset[row]);
    }
  }
}

// The slots of a page that rows see. kMax: the most rows.
template <uint32_t kMax>
struct PageViewOf {
  struct SeenTile {
    Tile tile;
    SlotRange any, common;  // slots that any of the tile's rows sees, and that all of them see
  };
  SlotRange slots[kMax];                               // the slots that each row sees
  SeenTile tiles[(kMax + kTileRows - 1) / kTileRows];  // the tiles that see any slot
  uint32_t tile_count;
  SlotRange any;  // slots that any row sees
};
using PageView = PageViewOf<kMaxQueryRows>;

inline void widen(SlotRange& range, SlotRange by) {
  range = {smaller(range.begin, by.begin), larger(range.end, by.end)};
}

template <uint32_t kMax = kMaxQueryRows>
inline PageViewOf<kMax> view_page(const RowBlock& b, uint32_t index) {
  constexpr SlotRange kNone{kPagePositions, 0};
  PageViewOf<kMax> view;
  view.tile_count = 0;
  view.any = kNone;
  for (uint32_t t = 0; t < tile_count(b.rows); ++t) {
    const Tile tile = tile_at(b.rows, t);
    SlotRange any = kNone, common{0, kPagePositions};
    for (uint32_t r = tile.row0; r < tile.row0 + tile.rows; ++r) {
      const SlotRange seen = visible_slots(first_seen(b.last[r], b.window), b.last[r], index);
      view.slots[r] = seen;
      if (!seen.empty()) widen(any, seen);
      common = {larger(common.begin, seen.begin), smaller(common.end, seen.end)};
    }
    if (any.empty()) continue;
    if (common.empty()) common = {kPagePositions, kPagePositions};
    view.tiles[view.tile_count++] = {tile, any, common};
    widen(view.any, any);
  }
  return view;
}

}  // namespace
}  // namespace hearth
