// Attention over pages of floats (f32, f16, bf16), over Vec16: products in register tiles
// (attention_tiles-inl.h). If a page has kUnpackTiles tiles or more, the tile that is computed
// first converts each half to floats in scratch while it reads it, and its products hide the
// conversion. ISA files include it after their Vec16.
#pragma once

#include <type_traits>

#include "kernels/attention/attention_rows-inl.h"
#include "kernels/attention/attention_tiles-inl.h"
#include "kernels/attention/kv_format-inl.h"

namespace hearth {
namespace {

// If at least so many tiles of rows see a page, its elements are converted to floats once for all
// tiles. Otherwise each tile converts them as it reads them, which takes about a third of its
// instructions.
constexpr uint32_t kUnpackTiles = 3;

// Format: the layout of keys and values in a page (kv_format-inl.h). kWidth: vectors in a row of a
// tile.
template <typename Format, int kWidth>
class FloatPages {
  using Element = typename Format::Element;

 public:
  static constexpr KvType kType = Format::kType;
  static constexpr bool kTakesTurns = true;

  static constexpr size_t key_bytes(uint32_t positions) { return positions * sizeof(Element); }
  static constexpr size_t value_bytes(uint32_t positions, uint32_t stride) {
    return size_t{positions} * stride * sizeof(Element);
  }

  static void load_queries(const AttendArgs& a, uint32_t row0, const RowBlock& b) {
    const Vec16 scale = Vec16::all(a.scale);
    for_queries(a, row0, b, [&](const Tile& tile, uint32_t r, const float* x) {
      float* q = b.q + size_t{tile.row0} * b.key_stride + r * kLanes;
      for (uint32_t d = 0; d < b.key_stride; d += kLanes) {
        store(q + d * tile.rows, mul(head_vector(x, b.key_length, d), scale));
      }
    });
  }

  static void score(const RowBlock& b, const PageView& view, const KvPage& page,
                    const Stream& stream) {
    score_page(b, view, {page.k, b.key_length, b.unpacked}, unpacks(view), stream);
  }

  static void add(const RowBlock& b, const PageView& view, const KvPage& page,
                  const Stream& stream) {
    add_page(b, view, {page.v, b.value_stride, b.unpacked}, unpacks(view), stream);
  }

 private:
  static constexpr bool kUnpacks = !std::is_same_v<Element, float>;

  static bool unpacks(const PageView& view) { return kUnpacks && view.tile_count >= kUnpackTiles; }

  // The last tile is computed first and unpacks the page, since its rows see the most of a prompt.
  static void score_page(const RowBlock& b, const PageView& view, Keys keys, bool unpack,
                         const Stream& stream) {
    const uint32_t last = view.tile_count - 1;
    if constexpr (kUnpacks) {
      if (unpack) {
        score_tile<Unpacking<Format>>(b, view.tiles[last].tile, view.any, keys, stream);
        keys.elements = keys.unpacked;
        return score_tiles<Unpacked<Format>>(b, view, last, keys);
      }
    }
    score_tile<Format>(b, view.tiles[last].tile, view.tiles[last].any, keys, stream);
    score_tiles<Format>(b, view, last, keys);
  }

  // Scores the first `count` tiles.
  template <typename Half>
  static void score_tiles(const RowBlock& b, const PageView& view, uint32_t count,
                          const Keys& keys) {
    for (uint32_t t = 0; t < count; ++t) {
      score_tile<Half>(b, view.tiles[t].tile, view.tiles[t].any, keys, {});
    }
  }

  template <typename Half>
  static void score_tile(const RowBlock& b, Tile tile, SlotRange slots, const Keys& keys,
                         const Stream& stream) {
    Tiles<Half, kWidth>::score(tile.rows, keys, b.q + size_t{tile.row0} * b.key_stride, slots,
                               b.scores + size_t{tile.row0} * kPagePositions, stream);
  }

  static void add_page(const RowBlock& b, const PageView& view, const Values& values, bool unpack,
                       const Stream& stream) {
    const uint32_t last = view.tile_count - 1;
    if constexpr (kUnpacks) {
      if (unpack) {
        const SlotRange &any = view.any, &common = view.tiles[last].common;
        unpack_values(values, {any.begin, smaller(common.begin, any.end)});
        unpack_values(values, {larger(common.end, any.begin), any.end});
        Values unpacked = values;
        unpacked.elements = values.unpacked;
        add_tile<Unpacking<Format>, Unpacked<Format>>(b, view, view.tiles[last], values, unpacked,
                                                      stream);
        return add_tiles<Unpacked<Format>>(b, view, last, unpacked);
      }
    }
    add_tile<Format, Format>(b, view, view.tiles[last], values, values, stream);
    add_tiles<Format>(b, view, last, values);
  }

  // Adds the first `count` tiles.
  template <typename Half>
  static void add_tiles(const RowBlock& b, const PageView& view, uint32_t count,
                        const Values& values) {
    for (uint32_t t = 0; t < count; ++t) {
      add_tile<Half, Half>(b, view, view.tiles[t], values, values, {});
    }
  }

  static void unpack_values(const Values& values, SlotRange slots) {
    for (size_t j = slots.begin; j < slots.end; ++j) {
      const Element* v = static_cast<const Element*>(values.elements) + j * values.stride;
      for (uint32_t d = 0; d < values.stride; d += kLanes) {
        store(values.unpacked + j * values.stride + d, Format::load(v + d));
      }
    }
  }

  // Adds the values to a tile's rows. Slots that only some rows see are read from `others` and
  // added row by row. If the other rows added 0 v instead, a v that is not finite would reach them.
  template <typename Half, typename Others>
  static void add_tile(const RowBlock& b, const PageView& view, const PageView::SeenTile& tile,
                       const Values& values, const Values& others, const Stream& stream) {
    const SlotRange& common = tile.common;
    const uint32_t end = tile.tile.row0 + tile.tile.rows;
    for (uint32_t r = tile.tile.row0; r < end; ++r) {
      const SlotRange& seen = view.slots[r];
      add_values<Others>(b, others, {r, 1}, {seen.begin, smaller(seen.end, common.begin)}, {});
    }
    add_values<Half>(b, values, tile.tile, common, stream);
    for (uint32_t r = tile.tile.row0; r < end; ++r) {
      add_values<Others>(b, others, {r, 1}, {common.end, view.slots[r].end}, {});
    }
  }

  template <typename Half>
  static void add_values(const RowBlock& b, const Values& values, const Tile& tile, SlotRange slots,
                         const Stream& stream) {
    if (slots.empty()) return;
    Tiles<Half, kWidth>::add(tile.rows, values, b.scores + size_t{tile.row0} * kPagePositions,
                             slots, b.span.acc + size_t{tile.row0} * b.value_stride, stream);
  }
};

}  // namespace
}  // namespace hearth
