// Attention over KV pages, written once over Vec16 (kernels/simd/) for all ISA levels: the
// operations of attention.h in their order, arranged in register tiles. An ISA file includes its
// Vec16, then this, and instantiates Attention with the width of its tiles.
//
// Pages are the outer loop, so that a page's keys and values are read from memory once for all
// rows, and of a page first the scores of all rows, then the sums of all values, so that L1 holds
// the half that they read. Rows go in tiles (attention_tiles-inl.h); where a page has kUnpackTiles
// of them or more, each half becomes floats once, in scratch. Every operation is elementwise
// between rows, so a row's bits don't depend on its tile.
//
// The first tile of a page prefetches the next page's keys while it reads keys, its values while it
// reads values, into L2: an L1 of 32 KiB holds one page of f16 and nothing else (Zen 4: 1.45 times
// as fast as into L1, half a page ahead). Where AttendArgs::four_places says so, from four places
// in turn; but where keys come in blocks (q8_0), which have half the bytes for the same arithmetic,
// in order.
#pragma once

#include <type_traits>

#include "kernels/attention/attention.h"
#include "kernels/attention/attention_merge-inl.h"
#include "kernels/attention/attention_tiles-inl.h"
#include "kernels/attention/kv_format-inl.h"
#include "kernels/simd/unroll.h"

namespace hearth {
namespace {

constexpr uint32_t kPageVectors = kPagePositions / kLanes;
// From so many tiles on a page is unpacked: the conversions that each would do cost about a third
// of one.
constexpr uint32_t kUnpackTiles = 3;

// The slots of page `page` that a row sees whose first and last positions are given.
inline SlotRange visible_slots(uint32_t first, uint32_t last, uint32_t page) {
  uint32_t origin = page * kPagePositions;
  if (last < origin || first >= origin + kPagePositions) return {0, 0};
  return {first > origin ? first - origin : 0, smaller(last - origin + 1, kPagePositions)};
}

inline uint32_t first_seen(uint32_t last, uint32_t window) {
  return window == 0 || last < window ? 0 : last - window + 1;
}

struct PageRange {
  uint32_t begin, end;
  bool empty() const { return begin >= end; }
};

// What a block of rows carries through the pages; all of it lies in the call's scratch.
struct RowBlock {
  const uint32_t* last;
  uint32_t rows;
  uint32_t window;
  uint32_t head_dim;
  uint32_t stride;  // padded head_dim
  float* q;         // scaled; tile after tile [d][rows of the tile]
  RowSums span;
  float* lanes;  // [rows][16]: the span's sums
  RowSums merged;
  float* scores;    // [rows][64], then probabilities
  float* v_scale;   // [64][blocks] of the page
  float* unpacked;  // [64][stride] of half a page
  KvPage after;     // AttendArgs::after
  bool four_places;
  uint32_t seen;  // positions that any of them sees: [0, seen)
};

constexpr size_t scratch_floats(size_t rows, size_t stride) {
  return rows * (3 * stride + kLanes + 4 + kPagePositions) +
         kPagePositions * (kMaxHeadDim / kKvBlock + stride) + 4 * kLanes;
}
constexpr uint32_t block_rows(uint32_t stride) { return stride <= 256 ? kMaxQueryRows : 36; }
static_assert(scratch_floats(block_rows(256), 256) * sizeof(float) <= kAttendScratchBytes);
static_assert(scratch_floats(block_rows(512), 512) * sizeof(float) <= kAttendScratchBytes);

inline RowBlock make_block(const AttendArgs& a, uint32_t row0, uint32_t rows) {
  RowBlock b{};
  b.last = a.last + row0;
  b.after = row0 + rows == a.rows ? a.after : KvPage{};
  b.four_places = a.four_places;
  for (uint32_t i = 0; i < rows; ++i) b.seen = larger(b.seen, b.last[i] + 1);
  b.rows = rows;
  b.window = a.window;
  b.head_dim = a.head_dim;
  b.stride = padded_head_dim(a.head_dim);
  float* next = reinterpret_cast<float*>(a.scratch);
  auto take = [&](size_t floats) {
    float* taken = next;
    next += (floats + kLanes - 1) / kLanes * kLanes;
    return taken;
  };
  size_t matrix = size_t{rows} * b.stride;
  b.q = take(matrix);
  const size_t sums = row_sums_floats(rows, a.head_dim);
  b.span = row_sums(take(sums), rows, a.head_dim);
  b.merged = row_sums(take(sums), rows, a.head_dim);
  b.lanes = take(size_t{rows} * kLanes);
  b.scores = take(size_t{rows} * kPagePositions);
  b.v_scale = take(kPagePositions * (kMaxHeadDim / kKvBlock));
  b.unpacked = take(size_t{kPagePositions} * b.stride);
  return b;
}

struct Tile {
  uint32_t row0, rows;
};
inline uint32_t tile_count(uint32_t rows) { return (rows + kTileRows - 1) / kTileRows; }
// As even as can be: two tiles of 4 rows are faster than one of 6 and one of 2.
inline Tile tile_at(uint32_t rows, uint32_t index) {
  uint32_t tiles = tile_count(rows);
  uint32_t begin = rows * index / tiles;
  return {begin, rows * (index + 1) / tiles - begin};
}

// Of the first page, before anything is read.
constexpr size_t kFirstBytes = 4096;

// What rows see of a page.
struct PageView {
  SlotRange slots[kMaxQueryRows];                           // of each row
  Tile tiles[(kMaxQueryRows + kTileRows - 1) / kTileRows];  // those that see any of it
  uint32_t tile_count;
};

inline PageView view_page(const RowBlock& b, uint32_t index) {
  PageView view;
  view.tile_count = 0;
  for (uint32_t t = 0; t < tile_count(b.rows); ++t) {
    Tile tile = tile_at(b.rows, t);
    bool any = false;
    for (uint32_t r = tile.row0; r < tile.row0 + tile.rows; ++r) {
      view.slots[r] = visible_slots(first_seen(b.last[r], b.window), b.last[r], index);
      any = any || !view.slots[r].empty();
    }
    if (any) view.tiles[view.tile_count++] = tile;
  }
  return view;
}

// Format: how a page holds keys and values (kv_format-inl.h). kWidth: vectors in a row of a tile.
template <typename Format, int kWidth>
class Attention {
 public:
  static void attend(const AttendArgs& a) {
    uint32_t most = block_rows(padded_head_dim(a.head_dim));
    for (uint32_t row0 = 0; row0 < a.rows; row0 += most) {
      attend_block(a, row0, smaller(most, a.rows - row0));
    }
  }

 private:
  using Element = typename Format::Element;

  // Of the keys and of the values of a page.
  struct Streams {
    Stream k, v;
  };

  // For the visit of a page: of `next` what rows see of it, `positions`, of `rest` the others'
  // lines. Four places take turns only for a whole page behind a whole one.
  static Streams streams_of(const RowBlock& b, const KvPage& next, uint32_t positions,
                            const KvPage& rest) {
    constexpr size_t kWhole = size_t{1} << 31;
    const size_t half = kv_half_bytes(Format::kType, b.head_dim);
    const bool turns = b.four_places && !Format::kBlocked && positions == kPagePositions;
    const size_t quarter = turns ? half / 4 / 64 * 64 : 0;
    const size_t seen = positions * Format::kStoredBytes;
    return {{next.k, quarter, kPagePositions * Format::kStoredBytes, seen, rest.k},
            {next.v, quarter, kWhole, seen * b.stride, rest.v}};
  }

  static void attend_block(const AttendArgs& a, uint32_t row0, uint32_t rows) {
    RowBlock b = make_block(a, row0, rows);
    const PageRange pages = pages_seen(a, b);
    if (!pages.empty()) prefetch_bytes(a.pages[pages.begin].k, kFirstBytes);
    load_queries(a, row0, b);
    if (a.sums != nullptr) {
      for (uint32_t span = a.span0; span < a.span1; ++span) {
        b.span = sums_at(a, span, row0, b.stride);
        visit_span(b, a.pages, pages, span);
      }
      return;
    }
    clear_sums(b.merged, rows, b.stride);
    for (uint32_t page = pages.begin; page < pages.end; page += kSpanPages - page % kSpanPages) {
      visit_span(b, a.pages, pages, page / kSpanPages);
      for (uint32_t i = 0; i < rows; ++i) merge_row(b.span, b.merged, i, b.stride);
    }
    for (uint32_t i = 0; i < rows; ++i) {
      write_row(b.merged, i, b.head_dim, a.out + a.out_offset[row0 + i]);
    }
  }

  // Of those that the call visits.
  static PageRange pages_seen(const AttendArgs& a, const RowBlock& b) {
    PageRange pages{~0u, 0};
    for (uint32_t i = 0; i < b.rows; ++i) {
      pages.begin = smaller(pages.begin, first_seen(b.last[i], b.window) / kPagePositions);
      pages.end = larger(pages.end, b.last[i] / kPagePositions + 1);
    }
    if (a.sums == nullptr) return pages;
    return {larger(pages.begin, a.span0 * kSpanPages), smaller(pages.end, a.span1 * kSpanPages)};
  }

  static void visit_span(const RowBlock& b, const KvPage* all, PageRange pages, uint32_t span) {
    clear_sums(b.span, b.rows, b.stride);
    for (size_t i = 0; i < size_t{b.rows} * kLanes; ++i) b.lanes[i] = 0;
    const uint32_t end = smaller((span + 1) * kSpanPages, pages.end);
    for (uint32_t page = larger(span * kSpanPages, pages.begin); page < end; ++page) {
      visit_page(b, all[page], page, streams_at(b, all, pages, page));
    }
    for (uint32_t i = 0; i < b.rows; ++i) {
      b.span.sum[i] = sum(Vec16::load(b.lanes + size_t{i} * kLanes));
    }
  }

  // Behind the last page comes b.after. A last page of few positions leaves little time to prefetch
  // that: then the page before fetches the rest of b.after, in place of the lines that no row sees.
  static Streams streams_at(const RowBlock& b, const KvPage* all, PageRange pages, uint32_t page) {
    auto seen = [&](uint32_t p) { return smaller(b.seen - p * kPagePositions, kPagePositions); };
    if (page + 1 == pages.end) {
      return streams_of(b, b.after, page == pages.begin ? kPagePositions : seen(page), {});
    }
    const bool one_left = page + 2 == pages.end;
    return streams_of(b, all[page + 1], seen(page + 1), one_left ? b.after : KvPage{});
  }

  // Where the call leaves what its rows from `row0` on have of a span.
  static RowSums sums_at(const AttendArgs& a, uint32_t span, uint32_t row0, uint32_t stride) {
    const size_t floats = row_sums_floats(a.rows, a.head_dim);
    RowSums all = row_sums(a.sums + floats * (span - a.span0), a.rows, a.head_dim);
    return {all.acc + size_t{row0} * stride, all.sum + row0, all.peak + row0};
  }

  static void load_queries(const AttendArgs& a, uint32_t row0, const RowBlock& b) {
    for (uint32_t t = 0; t < tile_count(b.rows); ++t) {
      Tile tile = tile_at(b.rows, t);
      float* q = b.q + size_t{tile.row0} * b.stride;
      for (uint32_t r = 0; r < tile.rows; ++r) {
        const float* x = a.q + a.q_offset[row0 + tile.row0 + r];
        for (uint32_t d = 0; d < b.head_dim; ++d) q[d * tile.rows + r] = x[d] * a.scale;
      }
    }
  }

  static void visit_page(const RowBlock& b, const KvPage& page, uint32_t index,
                         const Streams& streams) {
    const PageView view = view_page(b, index);
    if (view.tile_count == 0) return;
    const bool unpack = kUnpacks && view.tile_count >= kUnpackTiles;
    Keys keys{page.k, nullptr, b.head_dim};
    if constexpr (Format::kBlocked) {
      keys.scales = reinterpret_cast<const uint16_t*>(page.k + kv_scales_offset(b.head_dim));
    }
    if (unpack) {
      unpack_keys(b, page);
      keys.elements = b.unpacked;
      score_page<Unpacked<Format>>(b, view, keys, streams.k);
    } else {
      score_page<Format>(b, view, keys, streams.k);
    }
    for (uint32_t r = 0; r < b.rows; ++r) {
      if (!view.slots[r].empty()) update_row(b, r, view.slots[r]);
    }
    load_v_scales(b, page);
    Values values{page.v, b.v_scale, kv_blocks(b.head_dim), b.stride, kv_scales_offset(b.head_dim)};
    if (unpack) {
      unpack_values(b, page);
      values.elements = b.unpacked;
      add_page<Unpacked<Format>>(b, view, values, streams.v);
    } else {
      add_page<Format>(b, view, values, streams.v);
    }
  }

  static constexpr bool kUnpacks = !std::is_same_v<Element, float>;

  static void load_v_scales(const RowBlock& b, const KvPage& page) {
    if constexpr (Format::kScalesValues) {
      const auto* scales = reinterpret_cast<const uint16_t*>(page.v + kv_scales_offset(b.head_dim));
      uint32_t count = kPagePositions * kv_blocks(b.head_dim);
      for (uint32_t i = 0; i < count; i += kLanes) {
        store(b.v_scale + i, Vec16::load_f16(scales + i));
      }
    }
  }

  static void unpack_keys(const RowBlock& b, const KvPage& page) {
    const auto* k = reinterpret_cast<const Element*>(page.k);
    for (size_t i = 0; i < size_t{b.head_dim} * kPagePositions; i += kLanes) {
      store(b.unpacked + i, Format::load(k + i));
    }
  }

  static void unpack_values(const RowBlock& b, const KvPage& page) {
    const auto* v = reinterpret_cast<const Element*>(page.v);
    const float* scale = b.v_scale;
    for (size_t j = 0; j < kPagePositions; ++j, scale += kv_blocks(b.head_dim)) {
      for (uint32_t d = 0; d < b.stride; d += kLanes) {
        Vec16 x = Format::load(v + j * b.stride + d);
        if constexpr (Format::kScalesValues) x = mul(x, Vec16::all(scale[d / kKvBlock]));
        store(b.unpacked + j * b.stride + d, x);
      }
    }
  }

  template <typename Half>
  static void score_page(const RowBlock& b, const PageView& view, const Keys& keys, Stream stream) {
    for (uint32_t t = 0; t < view.tile_count; ++t, stream = {}) {
      const Tile& tile = view.tiles[t];
      SlotRange any{kPagePositions, 0};
      for (uint32_t r = tile.row0; r < tile.row0 + tile.rows; ++r) {
        const SlotRange& seen = view.slots[r];
        if (seen.empty()) continue;
        any = {smaller(any.begin, seen.begin), larger(any.end, seen.end)};
      }
      Tiles<Half, kWidth>::score(tile.rows, keys, b.q + size_t{tile.row0} * b.stride, any,
                                 b.scores + size_t{tile.row0} * kPagePositions, stream);
    }
  }

  template <typename Half>
  static void add_page(const RowBlock& b, const PageView& view, const Values& values,
                       Stream stream) {
    for (uint32_t t = 0; t < view.tile_count; ++t) {
      const Tile& tile = view.tiles[t];
      SlotRange common{0, kPagePositions};
      for (uint32_t r = tile.row0; r < tile.row0 + tile.rows; ++r) {
        common.begin = larger(common.begin, view.slots[r].begin);
        common.end = smaller(common.end, view.slots[r].end);
      }
      // Slots that only some of the rows see are summed row by row: were the others to add 0 v
      // there, a v that is not finite would reach them.
      if (common.empty()) common = {kPagePositions, kPagePositions};
      for (uint32_t r = tile.row0; r < tile.row0 + tile.rows; ++r) {
        const SlotRange& seen = view.slots[r];
        add_values<Half>(b, values, {r, 1}, {seen.begin, smaller(seen.end, common.begin)}, {});
      }
      if (!common.empty()) {
        add_values<Half>(b, values, tile, common, stream);
        stream = {};
      }
      for (uint32_t r = tile.row0; r < tile.row0 + tile.rows; ++r) {
        add_values<Half>(b, values, {r, 1}, {common.end, view.slots[r].end}, {});
      }
    }
  }

  template <typename Half>
  static void add_values(const RowBlock& b, const Values& values, const Tile& tile, SlotRange slots,
                         const Stream& stream) {
    if (slots.empty()) return;
    Tiles<Half, kWidth>::add(tile.rows, values, b.scores + size_t{tile.row0} * kPagePositions,
                             slots, b.span.acc + size_t{tile.row0} * b.stride, stream);
  }

  // The page's scores of a row become probabilities; its maximum and sum take them in.
  static void update_row(const RowBlock& b, uint32_t row, SlotRange seen) {
    float* scores = b.scores + size_t{row} * kPagePositions;
    Vec16 s[kPageVectors];
    HEARTH_UNROLL
    for (uint32_t g = 0; g < kPageVectors; ++g) s[g] = Vec16::load(scores + g * kLanes);
    if (seen.begin > 0 || seen.end < kPagePositions) {
      HEARTH_UNROLL
      for (uint32_t g = 0; g < kPageVectors; ++g) {
        s[g] = keep_lanes(s[g], static_cast<int>(seen.begin) - static_cast<int>(g * kLanes),
                          static_cast<int>(seen.end) - static_cast<int>(g * kLanes),
                          Vec16::all(kMinusInfinity));
      }
    }
    float before = b.span.peak[row];
    float highest = maximum(max(max(s[0], s[1]), max(s[2], s[3])));
    float peak = highest > before ? highest : before;
    HEARTH_UNROLL
    for (uint32_t g = 0; g < kPageVectors; ++g) {
      s[g] = exp_nonpositive(sub(s[g], Vec16::all(peak)));
      store(scores + g * kLanes, s[g]);
    }
    float* lanes = b.lanes + size_t{row} * kLanes;
    Vec16 sums = add(add(add(s[0], s[1]), s[2]), s[3]);
    if (peak == before) {
      store(lanes, add(Vec16::load(lanes), sums));  // what the factor exp(0) = 1 would give
      return;
    }
    Vec16 factor = exp_nonpositive(Vec16::all(before - peak));
    store(lanes, fma(Vec16::load(lanes), factor, sums));
    float* acc = b.span.acc + size_t{row} * b.stride;
    for (uint32_t d = 0; d < b.stride; d += kLanes) {
      store(acc + d, mul(Vec16::load(acc + d), factor));
    }
    b.span.peak[row] = peak;
  }
};

}  // namespace
}  // namespace hearth
