// The products of attention with a page of floats, over Vec16, for all ISA levels: keys [D][64
// positions], values in columns of kValueColumns, [64 positions][kValueColumns] each. A block is
// kDepth elements of the keys, or one column of values. All rows of the call go by before the next
// block, so all tiles but the first read the block from the first-level cache. Between two blocks
// sums lie in memory, which changes no bit. ISA files include it after their Vec16.
#pragma once

#include <cstring>

#include "kernels/attention/attention_rows-inl.h"
#include "kernels/attention/attention_softmax-inl.h"
#include "kernels/attention/attention_tiles-inl.h"
#include "kernels/attention/latent.h"
#include "kernels/simd/unroll.h"
#include "tensor/transpose.h"

namespace hearth {
namespace {

constexpr uint32_t kDepth = 64;                          // elements of keys in a block, 16 KiB
constexpr uint32_t kValueColumns = kLatentValueColumns;  // elements of values in a block, 16 KiB

// The products of a tile of up to kTileRows rows with a block. kWidth: vectors in a row of a tile.
template <int kWidth>
class LatentTiles {
 public:
  // Adds `count` elements of the keys (rows of 64 positions) to the scores of the positions up to
  // `end`; if `first`, the scores start from 0. q [count / 16][rows][16]; scores [rows][64].
  static void score(uint32_t rows, const float* keys, uint32_t count, const float* q, uint32_t end,
                    bool first, float* scores) {
    kScore[rows - 1](keys, count, q, end, first, scores);
  }

  // Adds p[row][64] times the values of `slots` to acc[row][stride], for `vectors` vectors of a
  // block.
  static void add(uint32_t rows, const float* values, uint32_t vectors, const float* p,
                  SlotRange slots, float* acc, size_t stride) {
    kAdd[rows - 1](values, vectors, p, slots, acc, stride);
  }

 private:
  static constexpr int tile_width(int rows) { return kWidth == 1 && rows <= 2 ? 2 : kWidth; }

  template <int R>
  static void score_rows(const float* keys, uint32_t count, const float* q, uint32_t end,
                         bool first, float* scores) {
    for_vectors<tile_width(R)>(0, (end + kLanes - 1) / kLanes,
                               [&]<int N>(std::integral_constant<int, N>, uint32_t vector) {
                                 score_columns<R, N>(keys + vector * kLanes, count, q, first,
                                                     scores + vector * kLanes);
                               });
  }

  template <int R, int N>
  static void score_columns(const float* k, uint32_t count, const float* q, bool first,
                            float* scores) {
    Vec16 acc[R][N];
    if (first) {
      clear(acc);
    } else {
      load_tile(acc, scores, kPagePositions);
    }
    for (uint32_t d = 0; d < count; d += kLanes, q += R * kLanes) {
      HEARTH_UNROLL_FOUR
      for (uint32_t i = 0; i < kLanes; ++i, k += kPagePositions) {
        Vec16 x[N];
        HEARTH_UNROLL
        for (int n = 0; n < N; ++n) x[n] = Vec16::load(k + n * static_cast<int>(kLanes));
        HEARTH_UNROLL
        for (int r = 0; r < R; ++r) {
          const Vec16 factor = Vec16::all(q[r * static_cast<int>(kLanes) + static_cast<int>(i)]);
          HEARTH_UNROLL
          for (int n = 0; n < N; ++n) acc[r][n] = fma(factor, x[n], acc[r][n]);
        }
      }
    }
    store_tile(acc, scores, kPagePositions);
  }

  template <int R>
  static void add_rows(const float* values, uint32_t vectors, const float* p, SlotRange slots,
                       float* acc, size_t stride) {
    for_vectors<tile_width(R)>(
        0, vectors, [&]<int N>(std::integral_constant<int, N>, uint32_t vector) {
          add_columns<R, N>(values + vector * kLanes, p, slots, acc + vector * kLanes, stride);
        });
  }

  template <int R, int N>
  static void add_columns(const float* values, const float* p, SlotRange slots, float* out,
                          size_t stride) {
    Vec16 acc[R][N];
    load_tile(acc, out, stride);
    HEARTH_UNROLL_FOUR
    for (size_t j = slots.begin; j < slots.end; ++j) {
      const float* v = values + j * kValueColumns;
      Vec16 x[N];
      HEARTH_UNROLL
      for (int n = 0; n < N; ++n) x[n] = Vec16::load(v + n * static_cast<int>(kLanes));
      HEARTH_UNROLL
      for (int r = 0; r < R; ++r) {
        const Vec16 factor = Vec16::all(p[size_t{kPagePositions} * static_cast<size_t>(r) + j]);
        HEARTH_UNROLL
        for (int n = 0; n < N; ++n) acc[r][n] = fma(factor, x[n], acc[r][n]);
      }
    }
    store_tile(acc, out, stride);
  }

  template <int R, int N>
  static void load_tile(Vec16 (&acc)[R][N], float* from, size_t stride) {
    HEARTH_UNROLL
    for (int r = 0; r < R; ++r) {
      HEARTH_UNROLL
      for (int n = 0; n < N; ++n) acc[r][n] = Vec16::load(at(from, stride, r, n));
    }
  }
  template <int R, int N>
  static void store_tile(const Vec16 (&acc)[R][N], float* to, size_t stride) {
    HEARTH_UNROLL
    for (int r = 0; r < R; ++r) {
      HEARTH_UNROLL
      for (int n = 0; n < N; ++n) store(at(to, stride, r, n), acc[r][n]);
    }
  }

  using ScoreFn = void (*)(const float*, uint32_t, const float*, uint32_t, bool, float*);
  using AddFn = void (*)(const float*, uint32_t, const float*, SlotRange, float*, size_t);
  static constexpr ScoreFn kScore[kTileRows] = {score_rows<1>, score_rows<2>, score_rows<3>,
                                                score_rows<4>, score_rows<5>, score_rows<6>};
  static constexpr AddFn kAdd[kTileRows] = {add_rows<1>, add_rows<2>, add_rows<3>,
                                            add_rows<4>, add_rows<5>, add_rows<6>};
};

// Prefetches the page that is visited next into L2, a few lines at a time, in `steps` steps.
class PageFetch {
 public:
  PageFetch(const std::byte* page, size_t bytes, size_t steps)
      : at_(page), end_(page == nullptr ? page : page + bytes), lines_(bytes / 64 / steps + 1) {}
  [[gnu::always_inline]] void step() {
    for (size_t i = 0; i < lines_ && at_ < end_; ++i, at_ += 64) prefetch_l2(at_);
  }

 private:
  const std::byte *at_, *end_;
  size_t lines_;
};

// The work on the rows of a call over pages of floats. kWidth as in LatentTiles.
template <int kWidth>
class LatentProducts {
 public:
  using View = PageViewOf<kMaxLatentRows>;
  using Products = LatentTiles<kWidth>;

  static uint32_t value_blocks(const RowBlock& b) {
    return (b.value_stride + kValueColumns - 1) / kValueColumns;
  }

  // Returns the rows of a call. Their data lies in memory that `take(floats)` returns.
  template <typename Take>
  static RowBlock make_rows(const AttendArgs& a, const Take& take) {
    RowBlock b{};
    b.last = a.last;
    b.rows = a.rows;
    for (uint32_t i = 0; i < a.rows; ++i) b.seen = larger(b.seen, a.last[i] + 1);
    b.key_length = a.key_length;
    b.value_length = a.value_length;
    b.key_stride = padded_length(a.key_length);
    b.value_stride = padded_length(a.value_length);
    b.q = take(size_t{a.rows} * b.key_stride);
    b.scores = take(size_t{a.rows} * kPagePositions);
    b.lanes = take(size_t{a.rows} * kLanes);
    return b;
  }

  // Calls visit_page(b, page, end) for the pages of every span. `page` is the page's number, and
  // `end` the number behind the last page of the call.
  template <typename VisitPage>
  static void visit_spans(const AttendArgs& a, RowBlock& b, const VisitPage& visit_page) {
    load_queries(a, b);
    const uint32_t end = smaller(a.span1 * kSpanPages, (b.seen - 1) / kPagePositions + 1);
    for (uint32_t span = a.span0; span < a.span1; ++span) {
      const size_t floats = row_sums_floats(a.rows, a.value_length);
      b.span = row_sums(a.sums + floats * (span - a.span0), a.rows, a.value_length);
      clear_sums(b.span, a.rows, b.value_stride);
      for (size_t i = 0; i < size_t{a.rows} * kLanes; ++i) b.lanes[i] = 0;
      const uint32_t last = smaller((span + 1) * kSpanPages, end);
      for (uint32_t page = span * kSpanPages; page < last; ++page) visit_page(b, page, end);
      for (uint32_t i = 0; i < a.rows; ++i) {
        b.span.sum[i] = sum(Vec16::load(b.lanes + size_t{i} * kLanes));
      }
    }
  }

  // Adds a page of keys and values, as floats, to the sums of the rows' attention, and prefetches
  // `next_bytes` bytes of the next page into L2 as it goes; nothing if `next` is null.
  static void visit(const RowBlock& b, const View& view, const float* keys, const float* values,
                    const std::byte* next, size_t next_bytes) {
    const uint32_t depths = (b.key_stride + kDepth - 1) / kDepth;
    PageFetch fetch(next, next_bytes, size_t{view.tile_count} * (depths + value_blocks(b)));
    for (uint32_t d = 0; d < b.key_stride; d += kDepth) {
      const uint32_t count = smaller(kDepth, b.key_stride - d);
      for (uint32_t t = 0; t < view.tile_count; ++t) {
        const Tile& tile = view.tiles[t].tile;
        Products::score(tile.rows, keys + size_t{d} * kPagePositions, count,
                        b.q + size_t{tile.row0} * b.key_stride + size_t{d} * tile.rows,
                        view.tiles[t].any.end, d == 0,
                        b.scores + size_t{tile.row0} * kPagePositions);
        fetch.step();
      }
    }
    update_rows<kMaxLatentRows>(b, view.slots);
    for (uint32_t block = 0; block < value_blocks(b); ++block) {
      for (uint32_t t = 0; t < view.tile_count; ++t) {
        add_tile(b, values, view, view.tiles[t], block);
        fetch.step();
      }
    }
  }

 private:
  static void load_queries(const AttendArgs& a, const RowBlock& b) {
    const Vec16 scale = Vec16::all(a.scale);
    for_queries(a, 0, b, [&](const Tile& tile, uint32_t r, const float* x) {
      float* q = b.q + size_t{tile.row0} * b.key_stride + r * kLanes;
      for (uint32_t d = 0; d < b.key_stride; d += kLanes) {
        store(q + size_t{d} * tile.rows, mul(head_vector(x, b.key_length, d), scale));
      }
    });
  }

  // Adds the values to a tile's rows; slots that only some of them see are added row by row.
  static void add_tile(const RowBlock& b, const float* values, const View& view,
                       const typename View::SeenTile& seen, uint32_t block) {
    const SlotRange& common = seen.common;
    add_slots(b, values, seen.tile, common, block);
    for (uint32_t r = seen.tile.row0; r < seen.tile.row0 + seen.tile.rows; ++r) {
      const uint32_t end = view.slots[r].end;
      add_slots(b, values, {r, 1}, common.empty() ? SlotRange{0, end} : SlotRange{common.end, end},
                block);
    }
  }

  static void add_slots(const RowBlock& b, const float* values, const Tile& tile, SlotRange slots,
                        uint32_t block) {
    if (slots.empty()) return;
    const uint32_t column = block * kValueColumns;
    const uint32_t vectors = smaller(kValueColumns, b.value_stride - column) / kLanes;
    Products::add(tile.rows, values + size_t{kPagePositions} * column, vectors,
                  b.scores + size_t{tile.row0} * kPagePositions, slots,
                  b.span.acc + size_t{tile.row0} * b.value_stride + column, b.value_stride);
  }
};

// Transposes elements of 16 positions, kStride floats apart, to rows of 64 positions.
template <uint32_t kStride>
inline void transpose_square(const float* from, float* keys) {
  for (uint32_t column = 0; column < kLanes; column += 4) {
    for (uint32_t row = 0; row < kLanes; row += 4) {
      U32x4 v[4];
      HEARTH_UNROLL
      for (uint32_t i = 0; i < 4; ++i) {
        std::memcpy(&v[i], from + size_t{row + i} * kStride + column, sizeof v[i]);
      }
      transpose(v);
      HEARTH_UNROLL
      for (uint32_t i = 0; i < 4; ++i) {
        std::memcpy(keys + size_t{column + i} * kPagePositions + row, &v[i], sizeof v[i]);
      }
    }
  }
}

}  // namespace
}  // namespace hearth
