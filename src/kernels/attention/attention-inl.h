// Attention over KV pages, written once over Vec16 (kernels/simd/) for all ISA levels: the
// operations of attention.h in their order, arranged in register tiles. An ISA file includes its
// Vec16, then this and its Pages, and instantiates Attention with them.
//
// Pages are the outer loop, so that a page's keys and values are read from memory once for all
// rows. In a page the scores of all rows come first, then the sums of all values, so L1 needs to
// hold only half a page at a time. Rows go in tiles. Every operation is elementwise between rows,
// so a row's bits don't depend on its tile.
//
// The tile of a page that is computed first prefetches the next page into L2: the keys while it
// reads keys, and the values while it reads values. L1 is no place for them, since an L1 of 32 KiB
// holds one page of f16 and nothing else (Zen 4: 1.45 times as fast as into L1, half a page ahead).
// With AttendArgs::four_places the tile prefetches from four places in turn, except pages of q8_0,
// which it prefetches in order.
#pragma once

#include "kernels/attention/attention.h"
#include "kernels/attention/attention_merge-inl.h"
#include "kernels/attention/attention_rows-inl.h"
#include "kernels/attention/attention_softmax-inl.h"
#include "kernels/attention/attention_tiles-inl.h"
#include "kernels/simd/unroll.h"

namespace hearth {
namespace {

struct PageRange {
  uint32_t begin, end;
  bool empty() const { return begin >= end; }
};

alignas(64) constexpr float kLaneNumbers[kLanes] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                    8, 9, 10, 11, 12, 13, 14, 15};

// The bytes of the first page that are prefetched before anything is read.
constexpr size_t kFirstBytes = 4096;

// Pages: the operations on a page of one format (attention_floats-inl.h, attention_codes-inl.h):
//   kType, kTakesTurns             the type; whether it allows four_places
//   key_bytes(n)                   the bytes of the first n positions in a row of keys
//   value_bytes(n, stride)         the bytes of the first n positions of the values
//   load_queries(args, row0, b)    loads the queries of the rows of b, as `score` reads them
//   score(b, view, page, stream)   computes the scores of rows with the slots that they see
//   add(b, view, page, stream)     adds the values of slots, times their probabilities, to the
//                                  rows' sums
template <typename Pages>
class Attention {
 public:
  static void attend(const AttendArgs& a) {
    const uint32_t most = block_rows(padded_length(larger(a.key_length, a.value_length)));
    for (uint32_t row0 = 0; row0 < a.rows; row0 += most) {
      attend_block(a, row0, smaller(most, a.rows - row0));
    }
  }

 private:
  // The streams of the keys and of the values of a page.
  struct Streams {
    Stream k, v;
  };

  // Returns the streams to prefetch while a page is visited: the lines of `next` that rows see, up
  // to `positions`, and the lines of `rest` in place of the other lines of `next`. Four places take
  // turns only when all of `next` is prefetched.
  static Streams streams_of(const RowBlock& b, const KvPage& next, uint32_t positions,
                            const KvPage& rest) {
    constexpr size_t kWhole = size_t{1} << 31;
    const bool turns = b.four_places && Pages::kTakesTurns && positions == kPagePositions;
    auto quarter = [&](uint32_t length) {
      return turns ? kv_half_bytes(Pages::kType, length) / 4 / 64 * 64 : 0;
    };
    return {{next.k, quarter(b.key_length), Pages::key_bytes(kPagePositions),
             Pages::key_bytes(positions), rest.k},
            {next.v, quarter(b.value_length), kWhole, Pages::value_bytes(positions, b.value_stride),
             rest.v}};
  }

  static void attend_block(const AttendArgs& a, uint32_t row0, uint32_t rows) {
    RowBlock b = make_block(a, row0, rows);
    const PageRange pages = pages_seen(a, b);
    if (!pages.empty()) prefetch_bytes(a.pages[pages.begin].k, kFirstBytes);
    Pages::load_queries(a, row0, b);
    if (a.sums != nullptr) {
      for (uint32_t span = a.span0; span < a.span1; ++span) {
        b.span = sums_at(a, span, row0, b.value_stride);
        visit_span(b, a.pages, pages, span);
      }
      return;
    }
    clear_sums(b.merged, rows, b.value_stride);
    for (uint32_t page = pages.begin; page < pages.end; page += kSpanPages - page % kSpanPages) {
      visit_span(b, a.pages, pages, page / kSpanPages);
      for (uint32_t i = 0; i < rows; ++i) merge_row(b.span, b.merged, i, b.value_stride);
    }
    for (uint32_t i = 0; i < rows; ++i) {
      if (a.sink != nullptr) add_sink(b.merged, i, b.value_stride, a.sink[row0 + i]);
      write_row(b.merged, i, b.value_length, a.out + a.out_offset[row0 + i]);
    }
  }

  // Returns the pages that some row sees, among those that the call visits.
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
    clear_sums(b.span, b.rows, b.value_stride);
    for (size_t i = 0; i < size_t{b.rows} * kLanes; ++i) b.lanes[i] = 0;
    const uint32_t end = smaller((span + 1) * kSpanPages, pages.end);
    for (uint32_t page = larger(span * kSpanPages, pages.begin); page < end; ++page) {
      visit_page(b, all[page], page, streams_at(b, all, pages, page));
    }
    for (uint32_t i = 0; i < b.rows; ++i) {
      b.span.sum[i] = sum(Vec16::load(b.lanes + size_t{i} * kLanes));
    }
  }

  // Returns the streams to prefetch while page `page` is visited: those of the next page or, during
  // the last page, those of b.after. If the last page has few positions, there is little time to
  // prefetch b.after. So the rest of b.after is prefetched during the page before it, in place of
  // the lines of the last page that no row sees.
  static Streams streams_at(const RowBlock& b, const KvPage* all, PageRange pages, uint32_t page) {
    auto seen = [&](uint32_t p) { return smaller(b.seen - p * kPagePositions, kPagePositions); };
    if (page + 1 == pages.end) {
      return streams_of(b, b.after, page == pages.begin ? kPagePositions : seen(page), {});
    }
    const bool one_left = page + 2 == pages.end;
    return streams_of(b, all[page + 1], seen(page + 1), one_left ? b.after : KvPage{});
  }

  // Returns where the call keeps the sums of a span, for its rows from `row0` on.
  static RowSums sums_at(const AttendArgs& a, uint32_t span, uint32_t row0, uint32_t stride) {
    const size_t floats = row_sums_floats(a.rows, a.value_length);
    RowSums all = row_sums(a.sums + floats * (span - a.span0), a.rows, a.value_length);
    return {all.acc + size_t{row0} * stride, all.sum + row0, all.peak + row0};
  }

  static void visit_page(const RowBlock& b, const KvPage& page, uint32_t index,
                         const Streams& streams) {
    const PageView view = view_page(b, index);
    if (view.tile_count == 0) return;
    Pages::score(b, view, page, streams.k);
    if (b.slope != nullptr) add_slopes(b, view, index);
    update_rows<kMaxQueryRows>(b, view.slots);
    Pages::add(b, view, page, streams.v);
  }

  // Adds the rows' slopes times the distances to the page's slots. Positions and distances are
  // whole numbers below 2^24, so they are exact. It is not inlined, to keep it out of the code for
  // rows without slopes.
  [[gnu::noinline]] static void add_slopes(const RowBlock& b, const PageView& view, uint32_t page) {
    const Vec16 lane = Vec16::load(kLaneNumbers);
    for (uint32_t r = 0; r < b.rows; ++r) {
      if (view.slots[r].empty()) continue;
      float* scores = b.scores + size_t{r} * kPagePositions;
      const Vec16 factor = Vec16::all(-b.slope[r]);
      const float first =
          static_cast<float>(page * kPagePositions) - static_cast<float>(b.position[r]);
      HEARTH_UNROLL
      for (uint32_t g = 0; g < kPageVectors; ++g) {
        const Vec16 apart = add(lane, Vec16::all(first + static_cast<float>(g * kLanes)));
        const Vec16 s = Vec16::load(scores + g * kLanes);
        store(scores + g * kLanes, fma(factor, absolute(apart), s));
      }
    }
  }
};

}  // namespace
}  // namespace hearth
