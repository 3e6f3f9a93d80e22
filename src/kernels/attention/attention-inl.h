// Attention over KV pages, written once over Vec16 (kernels/simd/) for all ISA levels: the
// operations of attention.h in their order, arranged in register tiles. An ISA file includes its
// Vec16, then this, and instantiates Attention with the width of its tiles.
//
// Pages are the outer loop, so that a page's keys and values are read from memory once for all
// rows. Rows go in tiles of up to 6: scores are 6 rows x kWidth vectors of positions, the value sum
// 6 rows x kWidth vectors of the head, each one broadcast and one register of the page per product.
// Every operation is elementwise between rows, so a row's bits don't depend on its tile.
//
// The first tile of a page prefetches: in keys the page's values, in values the next page's keys,
// from four places in turn, which on Sapphire Rapids brings 1.3 to 1.4 times what one place does.
// q8_0 has half the bytes for the same arithmetic: there the same half of the next page, in order,
// is in time and costs less.
#pragma once

#include "kernels/attention/attention.h"
#include "kernels/attention/kv_format-inl.h"
#include "kernels/simd/exp-inl.h"
#include "kernels/simd/unroll.h"

namespace hearth {
namespace {

constexpr uint32_t kTileRows = 6;
constexpr uint32_t kLanes = 16;
constexpr uint32_t kPageVectors = kPagePositions / kLanes;
constexpr float kMinusInfinity = -__builtin_inff();

inline uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }
inline uint32_t larger(uint32_t a, uint32_t b) { return a < b ? b : a; }

struct SlotRange {
  uint32_t begin, end;
  bool empty() const { return begin >= end; }
};

// The slots of page `page` that a row sees whose first and last positions are given.
inline SlotRange visible_slots(uint32_t first, uint32_t last, uint32_t page) {
  uint32_t origin = page * kPagePositions;
  if (last < origin || first >= origin + kPagePositions) return {0, 0};
  return {first > origin ? first - origin : 0, smaller(last - origin + 1, kPagePositions)};
}

inline uint32_t first_seen(uint32_t last, uint32_t window) {
  return window == 0 || last < window ? 0 : last - window + 1;
}

// What a block of rows carries through the pages; all of it lies in the call's scratch.
struct RowBlock {
  const uint32_t* last;
  uint32_t rows;
  uint32_t window;
  uint32_t head_dim;
  uint32_t stride;  // padded head_dim
  float* q;         // scaled; tile after tile [d][rows of the tile]
  float* acc;       // [rows][stride] of the span
  float* lanes;     // [rows][16] sums of the span
  float* peak;      // [rows] maximum of the span
  float* merged;    // [rows][stride] of the spans before
  float* merged_sum;
  float* merged_peak;
  float* scores;   // [kTileRows][64], then probabilities
  float* v_scale;  // [64][blocks] of the page
};

constexpr size_t scratch_floats(size_t rows, size_t stride) {
  return rows * (3 * stride + kLanes + 3) + kTileRows * kPagePositions +
         kPagePositions * (kMaxHeadDim / kKvBlock) + 4 * kLanes;
}
constexpr uint32_t block_rows(uint32_t stride) { return stride <= 256 ? kMaxQueryRows : 36; }
static_assert(scratch_floats(block_rows(256), 256) * sizeof(float) <= kAttendScratchBytes);
static_assert(scratch_floats(block_rows(512), 512) * sizeof(float) <= kAttendScratchBytes);

inline RowBlock make_block(const AttendArgs& a, uint32_t row0, uint32_t rows) {
  RowBlock b{};
  b.last = a.last + row0;
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
  b.acc = take(matrix);
  b.merged = take(matrix);
  b.lanes = take(size_t{rows} * kLanes);
  b.peak = take(rows);
  b.merged_sum = take(rows);
  b.merged_peak = take(rows);
  b.scores = take(kTileRows * kPagePositions);
  b.v_scale = take(kPagePositions * (kMaxHeadDim / kKvBlock));
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

// Inlined by force for the reason that prefetch() is.
[[gnu::always_inline]] inline void prefetch_bytes(const std::byte* p, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 64) prefetch(p + i);
}

// Of the first page, before anything is read.
constexpr size_t kFirstBytes = 4096;

// What a half of a page prefetches while it is read; no `next`: nothing.
struct Stream {
  const std::byte* next;
  size_t quarter;  // where the four places that take turns lie; 0: one place

  // For bytes [at, at + count) of the half that is read, multiples of 64.
  [[gnu::always_inline]] void prefetch_for(size_t at, size_t count) const {
    if (next == nullptr) return;
    if (quarter == 0) return prefetch_bytes(next + at, count);
    for (size_t line = at / 64; line < (at + count) / 64; ++line) {
      prefetch(next + line % 4 * quarter + line / 4 * 64);
    }
  }
};

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

  static Streams streams_of(const RowBlock& b, const KvPage& page, const KvPage* next) {
    const KvPage after = next != nullptr ? *next : KvPage{};
    if constexpr (Format::kBlocked) return {{after.k, 0}, {after.v, 0}};
    const size_t quarter = kv_half_bytes(Format::kType, b.head_dim) / 4 / 64 * 64;
    return {{page.v, quarter}, {after.k, quarter}};
  }

  static void attend_block(const AttendArgs& a, uint32_t row0, uint32_t rows) {
    RowBlock b = make_block(a, row0, rows);
    uint32_t first = ~0u, last = 0;
    for (uint32_t i = 0; i < rows; ++i) {
      first = smaller(first, first_seen(b.last[i], b.window) / kPagePositions);
      last = larger(last, b.last[i] / kPagePositions);
    }
    prefetch_bytes(a.pages[first].k, kFirstBytes);
    load_queries(a, row0, b);
    fill(b.merged, size_t{rows} * b.stride, 0.0f);
    fill(b.merged_sum, rows, 0.0f);
    fill(b.merged_peak, rows, kMinusInfinity);
    for (uint32_t page = first; page <= last;) {
      uint32_t span_end = smaller(page - page % kSpanPages + kSpanPages, last + 1);
      fill(b.acc, size_t{rows} * b.stride, 0.0f);
      fill(b.lanes, size_t{rows} * kLanes, 0.0f);
      fill(b.peak, rows, kMinusInfinity);
      for (; page < span_end; ++page) {
        visit_page(b, a.pages[page], page, page < last ? &a.pages[page + 1] : nullptr);
      }
      for (uint32_t i = 0; i < rows; ++i) merge_span(b, i);
    }
    for (uint32_t i = 0; i < rows; ++i) write_row(b, i, a.out + a.out_offset[row0 + i]);
  }

  static void fill(float* p, size_t n, float value) {
    for (size_t i = 0; i < n; ++i) p[i] = value;
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
                         const KvPage* next) {
    Streams streams = streams_of(b, page, next);
    bool touched = false;
    for (uint32_t t = 0; t < tile_count(b.rows); ++t) {
      Tile tile = tile_at(b.rows, t);
      SlotRange seen[kTileRows];
      bool any = false;
      for (uint32_t r = 0; r < tile.rows; ++r) {
        uint32_t row_last = b.last[tile.row0 + r];
        seen[r] = visible_slots(first_seen(row_last, b.window), row_last, index);
        any = any || !seen[r].empty();
      }
      if (!any) continue;
      if (!touched) load_v_scales(b, page);
      visit_tile(b, tile, seen, page, streams);
      touched = true;
      streams = {};
    }
  }

  static void load_v_scales(const RowBlock& b, const KvPage& page) {
    if constexpr (Format::kBlocked) {
      const auto* scales = reinterpret_cast<const uint16_t*>(page.v + kv_scales_offset(b.head_dim));
      uint32_t count = kPagePositions * kv_blocks(b.head_dim);
      for (uint32_t i = 0; i < count; i += kLanes) {
        store(b.v_scale + i, Vec16::load_f16(scales + i));
      }
    }
  }

  static void visit_tile(const RowBlock& b, const Tile& tile, const SlotRange* seen,
                         const KvPage& page, const Streams& streams) {
    SlotRange common{0, kPagePositions}, any{kPagePositions, 0};
    for (uint32_t r = 0; r < tile.rows; ++r) {
      if (seen[r].empty()) continue;
      any = {smaller(any.begin, seen[r].begin), larger(any.end, seen[r].end)};
    }
    kScoreTile[tile.rows - 1](page.k, b.q + size_t{tile.row0} * b.stride, b.head_dim, any, b.scores,
                              streams.k);
    for (uint32_t r = 0; r < tile.rows; ++r) {
      common.begin = larger(common.begin, seen[r].begin);
      common.end = smaller(common.end, seen[r].end);
      if (!seen[r].empty()) update_row(b, tile.row0 + r, b.scores + r * kPagePositions, seen[r]);
    }
    // Slots that only some of the rows see are summed row by row: were the others to add 0 v there,
    // a v that is not finite would reach them.
    if (common.empty()) common = {kPagePositions, kPagePositions};
    for (uint32_t r = 0; r < tile.rows; ++r) {
      SlotRange before{seen[r].begin, smaller(seen[r].end, common.begin)};
      if (!before.empty()) add_values(b, page, {tile.row0 + r, 1}, r, before, {});
    }
    if (!common.empty()) add_values(b, page, tile, 0, common, streams.v);
    for (uint32_t r = 0; r < tile.rows; ++r) {
      SlotRange after{common.end, seen[r].end};
      if (!after.empty()) add_values(b, page, {tile.row0 + r, 1}, r, after, {});
    }
  }

  static void add_values(const RowBlock& b, const KvPage& page, const Tile& tile,
                         uint32_t score_row, SlotRange slots, const Stream& stream) {
    kValueTile[tile.rows - 1](b, page.v, b.scores + score_row * kPagePositions, slots,
                              b.acc + size_t{tile.row0} * b.stride, stream);
  }

  // The page's scores of a row become probabilities; its maximum and sum take them in.
  static void update_row(const RowBlock& b, uint32_t row, float* scores, SlotRange seen) {
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
    float before = b.peak[row];
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
    float* acc = b.acc + size_t{row} * b.stride;
    for (uint32_t d = 0; d < b.stride; d += kLanes) {
      store(acc + d, mul(Vec16::load(acc + d), factor));
    }
    b.peak[row] = peak;
  }

  static void merge_span(const RowBlock& b, uint32_t row) {
    if (b.peak[row] == kMinusInfinity) return;
    float before = b.merged_peak[row];
    float peak = b.peak[row] > before ? b.peak[row] : before;
    Vec16 old_factor = exp_nonpositive(Vec16::all(before - peak));
    Vec16 new_factor = exp_nonpositive(Vec16::all(b.peak[row] - peak));
    float* merged = b.merged + size_t{row} * b.stride;
    const float* acc = b.acc + size_t{row} * b.stride;
    for (uint32_t d = 0; d < b.stride; d += kLanes) {
      Vec16 scaled = mul(Vec16::load(acc + d), new_factor);
      store(merged + d, fma(Vec16::load(merged + d), old_factor, scaled));
    }
    Vec16 scaled = mul(Vec16::all(sum(Vec16::load(b.lanes + size_t{row} * kLanes))), new_factor);
    Vec16 total = fma(Vec16::all(b.merged_sum[row]), old_factor, scaled);
    store_part(b.merged_sum + row, 1, total);
    b.merged_peak[row] = peak;
  }

  static void write_row(const RowBlock& b, uint32_t row, float* out) {
    Vec16 inverse = Vec16::all(1.0f / b.merged_sum[row]);
    const float* merged = b.merged + size_t{row} * b.stride;
    for (uint32_t d = 0; d < b.head_dim; d += kLanes) {
      Vec16 x = mul(Vec16::load(merged + d), inverse);
      uint32_t left = b.head_dim - d;
      if (left >= kLanes) {
        store(out + d, x);
      } else {
        store_part(out + d, left, x);
      }
    }
  }

  // Few rows have few chains of fma: where registers are left, a wider tile hides their latency.
  static constexpr int tile_width(int rows) { return kWidth == 1 && rows <= 2 ? 2 : kWidth; }

  // The scores of the slots that some row sees, 16 at a time.
  template <int R>
  static void score_tile(const std::byte* page, const float* q, uint32_t head_dim, SlotRange slots,
                         float* scores, const Stream& stream) {
    constexpr int kWide = tile_width(R);
    const uint32_t begin = slots.begin / kLanes, end = (slots.end + kLanes - 1) / kLanes;
    for_vectors<kWide>(begin, end, [&]<int N>(std::integral_constant<int, N>, uint32_t vector) {
      const uint32_t column = vector * kLanes;
      score_columns<R, N>(page, column, q, head_dim, scores + column,
                          vector == begin ? stream : Stream{});
    });
  }

  // Calls fn(N, vector) for the vectors from `begin` to `end`, N of them at a time: kWide, then 2,
  // then 1.
  template <int kWide, typename Fn>
  static void for_vectors(uint32_t begin, uint32_t end, Fn&& fn) {
    uint32_t n = begin;
    for (; n + kWide <= end; n += kWide) fn(std::integral_constant<int, kWide>(), n);
    if constexpr (kWide > 2) {
      for (; n + 2 <= end; n += 2) fn(std::integral_constant<int, 2>(), n);
    }
    if constexpr (kWide > 1) {
      for (; n < end; ++n) fn(std::integral_constant<int, 1>(), n);
    }
  }

  // Rows of the head between two prefetches; a block's where keys come in blocks.
  static constexpr uint32_t kChunk = Format::kBlocked ? kKvBlock : 16;

  template <int R, int N>
  static void score_columns(const std::byte* page, uint32_t column, const float* q,
                            uint32_t head_dim, float* scores, const Stream& stream) {
    constexpr size_t kRowBytes = kPagePositions * sizeof(Element);
    const Element* k = reinterpret_cast<const Element*>(page) + column;
    Vec16 acc[R][N];
    clear<R, N>(acc);
    for (uint32_t d0 = 0; d0 < head_dim; d0 += kChunk) {
      uint32_t d1 = smaller(d0 + kChunk, head_dim);
      stream.prefetch_for(d0 * kRowBytes, (d1 - d0) * kRowBytes);
      for (uint32_t d = d0; d < d1; ++d) {
        Vec16 x[N];
        HEARTH_UNROLL
        for (int n = 0; n < N; ++n) {
          x[n] = Format::load(k + size_t{d} * kPagePositions + static_cast<uint32_t>(n) * kLanes);
        }
        HEARTH_UNROLL
        for (int r = 0; r < R; ++r) {
          Vec16 factor = Vec16::all(q[size_t{d} * R + r]);
          HEARTH_UNROLL
          for (int n = 0; n < N; ++n) acc[r][n] = fma(factor, x[n], acc[r][n]);
        }
      }
      if constexpr (Format::kBlocked) {
        const auto* scale = reinterpret_cast<const uint16_t*>(page + kv_scales_offset(head_dim));
        scale += d0 / kKvBlock * kPagePositions + column;
        finish_block<R, N>(scale, d0 == 0, acc, scores);
        clear<R, N>(acc);
      }
    }
    if constexpr (!Format::kBlocked) {
      HEARTH_UNROLL
      for (int r = 0; r < R; ++r) {
        HEARTH_UNROLL
        for (int n = 0; n < N; ++n) store(at(scores, kPagePositions, r, n), acc[r][n]);
      }
    }
  }

  static float* at(float* p, size_t stride, int row, int vector) {
    return p + stride * static_cast<uint32_t>(row) + kLanes * static_cast<uint32_t>(vector);
  }

  template <int R, int N>
  static void clear(Vec16 (&acc)[R][N]) {
    HEARTH_UNROLL
    for (int r = 0; r < R; ++r) {
      HEARTH_UNROLL
      for (int n = 0; n < N; ++n) acc[r][n] = Vec16::zero();
    }
  }

  template <int R, int N>
  static void finish_block(const uint16_t* scales, bool first, const Vec16 (&acc)[R][N],
                           float* scores) {
    HEARTH_UNROLL
    for (int n = 0; n < N; ++n) {
      Vec16 scale = Vec16::load_f16(scales + static_cast<uint32_t>(n) * kLanes);
      HEARTH_UNROLL
      for (int r = 0; r < R; ++r) {
        float* s = at(scores, kPagePositions, r, n);
        store(s, fma(acc[r][n], scale, first ? Vec16::zero() : Vec16::load(s)));
      }
    }
  }

  template <int R>
  static void value_tile(const RowBlock& b, const std::byte* page, const float* p, SlotRange slots,
                         float* acc, const Stream& stream) {
    constexpr int kWide = tile_width(R);
    for_vectors<kWide>(
        0, b.stride / kLanes, [&]<int N>(std::integral_constant<int, N>, uint32_t vector) {
          value_columns<R, N>(b, page, p, slots, vector, acc, vector == 0 ? stream : Stream{});
        });
  }

  template <int R, int N>
  static void value_columns(const RowBlock& b, const std::byte* page, const float* p,
                            SlotRange slots, uint32_t vector, float* acc_rows,
                            const Stream& stream) {
    const Element* v = reinterpret_cast<const Element*>(page) + vector * kLanes;
    const size_t row_bytes = b.stride * sizeof(Element);
    float* out = acc_rows + vector * kLanes;
    Vec16 acc[R][N];
    HEARTH_UNROLL
    for (int r = 0; r < R; ++r) {
      HEARTH_UNROLL
      for (int n = 0; n < N; ++n) acc[r][n] = Vec16::load(at(out, b.stride, r, n));
    }
    for (uint32_t j = slots.begin; j < slots.end; ++j) {
      stream.prefetch_for(j * row_bytes, row_bytes);
      Vec16 x[N];
      HEARTH_UNROLL
      for (int n = 0; n < N; ++n) {
        x[n] = Format::load(v + size_t{j} * b.stride + static_cast<uint32_t>(n) * kLanes);
        if constexpr (Format::kBlocked) {
          uint32_t block = (vector + static_cast<uint32_t>(n)) * kLanes / kKvBlock;
          x[n] = mul(x[n], Vec16::all(b.v_scale[j * kv_blocks(b.head_dim) + block]));
        }
      }
      HEARTH_UNROLL
      for (int r = 0; r < R; ++r) {
        Vec16 factor = Vec16::all(p[kPagePositions * static_cast<uint32_t>(r) + j]);
        HEARTH_UNROLL
        for (int n = 0; n < N; ++n) acc[r][n] = fma(factor, x[n], acc[r][n]);
      }
    }
    HEARTH_UNROLL
    for (int r = 0; r < R; ++r) {
      HEARTH_UNROLL
      for (int n = 0; n < N; ++n) store(at(out, b.stride, r, n), acc[r][n]);
    }
  }

  using ScoreTile = void (*)(const std::byte*, const float*, uint32_t, SlotRange, float*,
                             const Stream&);
  using ValueTile = void (*)(const RowBlock&, const std::byte*, const float*, SlotRange, float*,
                             const Stream&);
  static constexpr ScoreTile kScoreTile[kTileRows] = {score_tile<1>, score_tile<2>, score_tile<3>,
                                                      score_tile<4>, score_tile<5>, score_tile<6>};
  static constexpr ValueTile kValueTile[kTileRows] = {value_tile<1>, value_tile<2>, value_tile<3>,
                                                      value_tile<4>, value_tile<5>, value_tile<6>};
};

}  // namespace
}  // namespace hearth
