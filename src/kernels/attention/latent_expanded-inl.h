// Keys and values of a head made of latents, and attention to them, over Vec16 for all ISA levels:
// kernels/attention/latent.h in register tiles. ISA files include it after their Vec16.
//
// Both products use the kernel for scores (latent_tiles-inl.h). The key's matrix times the
// transposed page gives keys. The page's positions times the value's matrix give values. Both come
// out in the layout of an expanded page. Blocks of kDepth elements of the latents, of the page or
// of the value's matrix, stay in the first-level cache.
#pragma once

#include <cstring>

#include "kernels/attention/latent-inl.h"
#include "kernels/attention/latent_tiles-inl.h"

namespace hearth {
namespace {

static_assert(kExpandRows == kTileRows);

// Row: LatentRow<Format> or LatentCodes. kWidth as in LatentTiles.
template <typename Row, int kWidth>
class LatentExpansion {
  using Products = LatentTiles<kWidth>;

 public:
  static void expand(const ExpandArgs& a) {
    const uint32_t latent = padded_length(a.kv_lora_rank);
    const uint32_t cached = padded_length(a.kv_lora_rank + a.rope_length);
    auto* transposed = reinterpret_cast<float*>(a.scratch);
    float* positions = transposed + size_t{kPagePositions} * cached;
    const uint32_t end = (a.slots + kLanes - 1) / kLanes * kLanes;
    unpack(a, end, transposed, positions);
    PageFetch fetch(a.next, kv_half_bytes(Row::kType, a.kv_lora_rank + a.rope_length),
                    latent / kDepth + 1);
    for (uint32_t l = 0; l < latent; l += kDepth) {
      const uint32_t count = smaller(kDepth, latent - l);
      make_keys(a, l, count, end, transposed);
      make_values(a, l, count, end, positions);
      fetch.step();
    }
    const uint32_t length = a.nope_length + a.rope_length;
    float* rope_keys = a.keys + size_t{a.nope_length} * kPagePositions;
    std::memcpy(rope_keys, transposed + size_t{a.kv_lora_rank} * kPagePositions,
                size_t{a.rope_length} * kPagePositions * sizeof(float));
    std::memset(a.keys + size_t{length} * kPagePositions, 0,
                size_t{padded_length(length) - length} * kPagePositions * sizeof(float));
  }

 private:
  static_assert(2 * size_t{kPagePositions} * kMaxLatentKey * sizeof(float) <= kLatentScratchBytes);

  // Unpacks slots up to `end`: all elements to rows of 64 positions (`transposed`), and those of
  // the latents to tiles of positions (`positions`).
  static void unpack(const ExpandArgs& a, uint32_t end, float* transposed, float* positions) {
    const uint32_t latent = padded_length(a.kv_lora_rank);
    const uint32_t cached = padded_length(a.kv_lora_rank + a.rope_length);
    for (uint32_t slot = 0; slot < end; slot += kLanes) {
      Row rows[kLanes];
      float* places[kLanes];  // in tiles
      size_t strides[kLanes];
      for (uint32_t i = 0; i < kLanes; ++i) {
        rows[i].open(a.page, a.kv_lora_rank + a.rope_length, slot + i);
        const uint32_t row0 = (slot + i) / kTileRows * kTileRows;
        places[i] = positions + size_t{row0} * latent + (slot + i - row0) * kLanes;
        strides[i] = smaller(kTileRows, kPagePositions - row0);
      }
      for (uint32_t d = 0; d < cached; d += kLanes) {
        alignas(64) float square[kLanes * kLanes];
        for (uint32_t i = 0; i < kLanes; ++i) {
          const Vec16 x = rows[i].load(d);
          store(square + size_t{i} * kLanes, x);
          if (d < latent) store(places[i] + strides[i] * d, x);
        }
        transpose_square<kLanes>(square, transposed + size_t{d} * kPagePositions + slot);
      }
    }
  }

  static void make_keys(const ExpandArgs& a, uint32_t l, uint32_t count, uint32_t end,
                        const float* transposed) {
    const size_t latent = padded_length(a.kv_lora_rank);
    for (uint32_t d = 0; d < a.nope_length; d += kTileRows) {
      const uint32_t rows = smaller(kTileRows, a.nope_length - d);
      Products::score(rows, transposed + size_t{l} * kPagePositions, count,
                      a.key + latent * d + size_t{l} * rows, end, l == 0,
                      a.keys + size_t{d} * kPagePositions);
    }
  }

  static void make_values(const ExpandArgs& a, uint32_t l, uint32_t count, uint32_t end,
                          const float* positions) {
    const size_t latent = padded_length(a.kv_lora_rank);
    for (uint32_t e = 0; e < a.value_length; e += kValueColumns) {
      const uint32_t columns = smaller(kValueColumns, a.value_length - e);
      for (uint32_t slot = 0; slot < end; slot += kTileRows) {
        const uint32_t rows = smaller(kTileRows, kPagePositions - slot);
        Products::score(rows, a.value + latent * e + size_t{l} * kValueColumns, count,
                        positions + latent * slot + size_t{l} * rows, columns, l == 0,
                        a.values + size_t{e} * kPagePositions + size_t{slot} * kValueColumns);
      }
    }
  }
  static_assert(kValueColumns == kPagePositions);
};

template <int kWidth>
inline void attend_expanded(const AttendArgs& a) {
  using Products = LatentProducts<kWidth>;
  float* next = reinterpret_cast<float*>(a.scratch);
  auto take = [&](size_t floats) {
    float* taken = next;
    next += floats;
    return taken;
  };
  RowBlock rows = Products::make_rows(a, take);
  Products::visit_spans(a, rows, [&](const RowBlock& b, uint32_t page, uint32_t) {
    const auto view = view_page<kMaxLatentRows>(b, page);
    if (view.tile_count == 0) return;
    const KvPage& of = a.pages[page - a.span0 * kSpanPages];
    Products::visit(b, view, reinterpret_cast<const float*>(of.k),
                    reinterpret_cast<const float*>(of.v), nullptr, 0);
  });
}

}  // namespace
}  // namespace hearth
