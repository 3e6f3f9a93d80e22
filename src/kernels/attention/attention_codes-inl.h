// Attention over pages of q8_0, over Vec16: the products of int16 with codes that attention.h
// defines, in tiles of up to 6 rows like those of floats (attention_tiles-inl.h). Keys lie in pairs
// of elements and values in pairs of positions. So one register of a page holds 16 pairs, and a
// product takes a pair of each. ISA files include it after their Vec16.
#pragma once

#include "kernels/attention/attention_rows-inl.h"
#include "kernels/attention/attention_tiles-inl.h"
#include "kernels/attention/kv_format-inl.h"

namespace hearth {
namespace {

// `kWidth` is the number of vectors in a row of a tile.
template <int kWidth>
class CodePages {
 public:
  static constexpr KvType kType = KvType::kQ8_0;
  static constexpr bool kTakesTurns = false;

  static constexpr size_t key_bytes(uint32_t positions) { return size_t{2} * positions; }
  static constexpr size_t value_bytes(uint32_t positions, uint32_t stride) {
    return size_t{(positions + 1) / 2 * 2} * stride;
  }

  static void load_queries(const AttendArgs& a, uint32_t row0, const RowBlock& b) {
    for_queries(a, row0, b, [&](const Tile& tile, uint32_t r, const float* x) {
      int16_t* codes = query_codes(b, tile) + r * kLanes;
      b.unit[tile.row0 + r] = quantise_query(x, b, Vec16::all(a.scale), codes, tile.rows);
    });
  }

  static void score(const RowBlock& b, const PageView& view, const KvPage& page,
                    const Stream& stream) {
    for (uint32_t t = view.tile_count; t-- > 0;) {
      const Tile& tile = view.tiles[t].tile;
      const KeyCodes keys{page.k, b.key_stride, t + 1 == view.tile_count ? stream : Stream{}};
      kScore[tile.rows - 1](keys, query_codes(b, tile), b.unit + tile.row0, view.tiles[t].any,
                            b.scores + size_t{tile.row0} * kPagePositions);
    }
  }

  static void add(const RowBlock& b, const PageView& view, const KvPage& page,
                  const Stream& stream) {
    Shares shares(b, page);
    for (uint32_t t = view.tile_count; t-- > 0;) {
      const Tile& tile = view.tiles[t].tile;
      const ValueCodes values{page.v, b.value_stride, view.tiles[t].any,
                              t + 1 == view.tile_count ? stream : Stream{}};
      for (uint32_t r = 0; r < tile.rows; ++r) {
        const size_t early = early_bytes(r, b.value_stride);
        values.stream.prefetch_for(early, early_bytes(r + 1, b.value_stride) - early);
        shares.take(b, tile, r, view.slots[tile.row0 + r]);
      }
      kAdd[tile.rows - 1](values, shares, b.span.acc + size_t{tile.row0} * b.value_stride);
    }
  }

 private:
  static constexpr float kMax = 32767.0f, kStep = 1.0f / kMax;
  static constexpr float kMinMagnitude = 0x1p-100f;

  // Returns how many steps of int16 the largest element has; 0 if the number would not be finite.
  static float steps_of(float largest) { return largest < kMinMagnitude ? 0.0f : kMax / largest; }

  // The number of elements of a query that lie together in a tile's codes. The sums of values take
  // as many positions in one unrolled run.
  static constexpr uint32_t kTogether = kLanes;

  // Returns how many bytes of the next page's values are prefetched while Shares::take() makes the
  // codes of a tile's first `rows` rows, so that memory is busy then, too. They are 4 positions for
  // each of the first 4 rows.
  static size_t early_bytes(uint32_t rows, uint32_t stride) {
    return size_t{4} * smaller(rows, 4) * stride;
  }

  struct KeyCodes {
    const std::byte* codes;
    uint32_t stride;
    Stream stream;
  };

  struct ValueCodes {
    const std::byte* codes;
    uint32_t stride;
    SlotRange slots;
    Stream stream;
  };

  // Returns the codes of a tile's queries: [key_stride / 16][rows of the tile][16].
  static int16_t* query_codes(const RowBlock& b, const Tile& tile) {
    return reinterpret_cast<int16_t*>(b.q) + size_t{tile.row0} * b.key_stride;
  }

  // Makes the int16 codes of a query. Returns the value of one step of the codes.
  static float quantise_query(const float* x, const RowBlock& b, Vec16 scale, int16_t* codes,
                              uint32_t rows) {
    Vec16 most = Vec16::zero(), zeros = Vec16::zero();
    for (uint32_t d = 0; d < b.key_stride; d += kLanes) {
      const Vec16 q = mul(head_vector(x, b.key_length, d), scale);
      most = max(absolute(q), most);
      zeros = fma(q, Vec16::zero(), zeros);
    }
    const float highest = maximum(most);
    const Vec16 steps = Vec16::all(steps_of(highest));
    for (uint32_t d = 0; d < b.key_stride; d += kLanes, codes += rows * kLanes) {
      store_i16(codes, mul(mul(head_vector(x, b.key_length, d), scale), steps));
    }
    return highest * kStep + sum(zeros);
  }

  // Returns a tile's width in vectors. Few rows have few chains of products, and a wider tile hides
  // their latency.
  static constexpr int tile_width(int rows) {
    if (kWidth == 1) return rows <= 2 ? 2 : 1;
    return rows <= 4 ? kWidth : kWidth / 2;
  }

  template <int R>
  static void score_rows(const KeyCodes& keys, const int16_t* q, const float* unit, SlotRange slots,
                         float* scores) {
    const uint32_t begin = slots.begin / kLanes, end = (slots.end + kLanes - 1) / kLanes;
    for_vectors<tile_width(R)>(begin, end,
                               [&]<int N>(std::integral_constant<int, N>, uint32_t vector) {
                                 score_columns<R, N>(keys, vector * kLanes, q, unit,
                                                     vector == begin, scores + vector * kLanes);
                               });
  }

  template <int R, int N>
  static void score_columns(const KeyCodes& keys, uint32_t column, const int16_t* q,
                            const float* unit, bool first, float* scores) {
    constexpr size_t kScaleBytes = kPagePositions * sizeof(uint16_t);
    const Stream stream = first ? keys.stream : Stream{};
    const size_t scales_at = kv_scales_offset(keys.stride);
    const auto* scales = reinterpret_cast<const uint16_t*>(keys.codes + scales_at) + column;
    for (uint32_t d0 = 0; d0 < keys.stride; d0 += kKvBlock, scales += kPagePositions) {
      const uint32_t d1 = smaller(d0 + kKvBlock, keys.stride);
      stream.prefetch_scales(scales_at + d0 / kKvBlock * kScaleBytes, kScaleBytes);
      Ints16 acc[R][N];
      clear(acc);
      for (uint32_t d = d0; d < d1; d += kTogether) {
        stream.prefetch_for(size_t{d} * kPagePositions, kTogether * kPagePositions);
        const int16_t* factors = q + size_t{d} * R;
        HEARTH_UNROLL
        for (uint32_t i = 0; i < kTogether; i += 2) {
          multiply<R, N>(
              keys.codes + size_t{d + i} * kPagePositions + 2 * column, factors + i,
              [](int r, int) { return r * static_cast<int>(kLanes); }, acc);
        }
      }
      HEARTH_UNROLL
      for (int n = 0; n < N; ++n) {
        const Vec16 scale = Vec16::load_f16(scales + static_cast<uint32_t>(n) * kLanes);
        HEARTH_UNROLL
        for (int r = 0; r < R; ++r) {
          float* s = at(scores, kPagePositions, r, n);
          const Vec16 before = d0 == 0 ? Vec16::zero() : Vec16::load(s);
          const Vec16 sum = fma(to_floats(acc[r][n]), scale, before);
          store(s, d1 == keys.stride ? mul(sum, Vec16::all(unit[r])) : sum);
        }
      }
    }
  }

  // Adds the products of N registers of codes with the pair at factors + offset(row, n).
  template <int R, int N, typename Offset>
  [[gnu::always_inline]] static void multiply(const std::byte* codes, const int16_t* factors,
                                              const Offset& offset, Ints16 (&acc)[R][N]) {
    Pairs16 x[N];
    HEARTH_UNROLL
    for (int n = 0; n < N; ++n) {
      x[n] = Pairs16::load_i8(reinterpret_cast<const int8_t*>(codes) +
                              n * 2 * static_cast<int>(kLanes));
    }
    HEARTH_UNROLL
    for (int r = 0; r < R; ++r) {
      HEARTH_UNROLL
      for (int n = 0; n < N; ++n) {
        acc[r][n] = dot(acc[r][n], x[n], Pairs16::all(factors + offset(r, n)));
      }
    }
  }

  // The shares of a page's values in a tile's rows: the int16 w of the contract (attention.h), 64
  // for each block and row.
  class Shares {
   public:
    Shares(const RowBlock& b, const KvPage& page)
        : blocks_(kv_blocks(b.value_length)),
          stored_(reinterpret_cast<const uint16_t*>(page.v + kv_scales_offset(b.value_length))),
          scales_(b.unpacked),
          codes_(reinterpret_cast<int16_t*>(b.unpacked + size_t{blocks_} * kPagePositions)) {}

    // Makes the int16 codes of row r of a tile, which sees `slots`: its probabilities times the
    // scales of values, with a unit for each block.
    void take(const RowBlock& b, const Tile& tile, uint32_t r, SlotRange slots) {
      if (slots.empty()) return take_nothing(r, tile.rows);
      if (slots.begin != seen_.begin || slots.end != seen_.end) load_scales(slots);
      const float* p = b.scores + size_t{tile.row0 + r} * kPagePositions;
      Vec16 zeros = Vec16::zero();
      for (uint32_t block = 0; block < blocks_; ++block) {
        Vec16 x[kPageVectors];
        HEARTH_UNROLL
        for (uint32_t g = 0; g < kPageVectors; ++g) {
          x[g] = mul(Vec16::load(p + g * kLanes),
                     Vec16::load(scales_ + block * kPagePositions + g * kLanes));
          zeros = fma(x[g], Vec16::zero(), zeros);
        }
        const float highest = maximum(max(max(x[0], x[1]), max(x[2], x[3])));
        const Vec16 steps = Vec16::all(steps_of(highest));
        units_[r][block] = highest * kStep;
        HEARTH_UNROLL
        for (uint32_t g = 0; g < kPageVectors; ++g) {
          store_i16(codes(block, tile.rows) + r * kPagePositions + g * kLanes, mul(x[g], steps));
        }
      }
      const float none = sum(zeros);
      for (uint32_t block = 0; block < blocks_; ++block) units_[r][block] += none;
    }

    // Returns the shares of a block: [rows of the tile][64].
    int16_t* codes(uint32_t block, uint32_t rows) const {
      return codes_ + size_t{block} * rows * kPagePositions;
    }
    // Returns the value of one step of a row's codes.
    float unit(int row, uint32_t block) const { return units_[row][block]; }

   private:
    // Loads the scales of slots that a row sees, and 0 for others.
    void load_scales(SlotRange slots) {
      for (uint32_t i = 0; i < blocks_ * kPagePositions; i += kLanes) {
        const int first = static_cast<int>(i % kPagePositions);
        store(scales_ + i,
              keep_lanes(Vec16::load_f16(stored_ + i), static_cast<int>(slots.begin) - first,
                         static_cast<int>(slots.end) - first, Vec16::zero()));
      }
      seen_ = slots;
    }

    // Gives row r, which sees no slot, shares of 0 with the unit -0: adding 0 times -0 changes no
    // float.
    void take_nothing(uint32_t r, uint32_t rows) {
      for (uint32_t block = 0; block < blocks_; ++block) {
        units_[r][block] = -0.0f;
        for (uint32_t g = 0; g < kPageVectors; ++g) {
          store_i16(codes(block, rows) + r * kPagePositions + g * kLanes, Vec16::zero());
        }
      }
    }

    uint32_t blocks_;
    const uint16_t* stored_;
    float* scales_;  // [blocks][64]
    int16_t* codes_;
    SlotRange seen_{0, 0};
    float units_[kTileRows][kMaxHeadDim / kKvBlock];
  };

  template <int R>
  static void add_rows(const ValueCodes& values, const Shares& shares, float* acc) {
    for_vectors<tile_width(R)>(0, values.stride / kLanes,
                               [&]<int N>(std::integral_constant<int, N>, uint32_t vector) {
                                 add_columns<R, N>(values, shares, vector, acc + vector * kLanes);
                               });
  }

  template <int R, int N>
  static void add_columns(const ValueCodes& values, const Shares& shares, uint32_t vector,
                          float* out) {
    constexpr uint32_t kBlockVectors = kKvBlock / kLanes;
    constexpr size_t kBytes = 2 * kLanes * N;
    const size_t pair_bytes = size_t{2} * values.stride;
    const uint32_t block = vector / kBlockVectors;
    const int16_t* codes = shares.codes(block, R);
    auto code = [](int r, int n) {
      return (n / static_cast<int>(kBlockVectors) * R + r) * static_cast<int>(kPagePositions);
    };
    // A cache line may hold vectors of several tiles; the first of these tiles prefetches it.
    const bool first = kBytes >= 64 || vector * 2 * kLanes % 64 == 0;
    const Stream stream = first ? values.stream : Stream{};
    const size_t early = early_bytes(R, values.stride);
    if (vector == 0) {
      stream.prefetch_scales(kv_scales_offset(values.stride),
                             kPagePositions * kv_blocks(values.stride) * sizeof(uint16_t));
    }
    Ints16 acc[R][N];
    clear(acc);
    // Slots that a row does not see have shares of 0, so all slots can be added.
    for (uint32_t j = values.slots.begin / kTogether * kTogether; j < values.slots.end;
         j += kTogether) {
      HEARTH_UNROLL
      for (uint32_t i = 0; i < kTogether; i += 2) {
        const size_t from = (j + i) / 2 * pair_bytes + vector * 2 * kLanes;
        if (from >= early) stream.prefetch_for(from, kBytes);
        multiply<R, N>(values.codes + from, codes + j + i, code, acc);
      }
    }
    HEARTH_UNROLL
    for (int r = 0; r < R; ++r) {
      HEARTH_UNROLL
      for (int n = 0; n < N; ++n) {
        const Vec16 unit =
            Vec16::all(shares.unit(r, block + static_cast<uint32_t>(n) / kBlockVectors));
        float* sum = at(out, values.stride, r, n);
        store(sum, fma(to_floats(acc[r][n]), unit, Vec16::load(sum)));
      }
    }
  }

  using ScoreFn = void (*)(const KeyCodes&, const int16_t*, const float*, SlotRange, float*);
  using AddFn = void (*)(const ValueCodes&, const Shares&, float*);
  static constexpr ScoreFn kScore[kTileRows] = {score_rows<1>, score_rows<2>, score_rows<3>,
                                                score_rows<4>, score_rows<5>, score_rows<6>};
  static constexpr AddFn kAdd[kTileRows] = {add_rows<1>, add_rows<2>, add_rows<3>,
                                            add_rows<4>, add_rows<5>, add_rows<6>};
};

}  // namespace
}  // namespace hearth
