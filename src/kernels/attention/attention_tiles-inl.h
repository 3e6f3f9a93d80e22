// The products of attention with half a page, over Vec16, for tiles of up to 6 rows. A tile of
// scores is 6 rows x kWidth vectors of positions, a tile of the value sum 6 rows x kWidth vectors
// of the head. Each product takes one broadcast and one register of the page. The order is that of
// Attention (attention-inl.h). ISA files include it after their Vec16.
#pragma once

#include <type_traits>

#include "kernels/attention/attention.h"
#include "kernels/attention/attention_merge-inl.h"
#include "kernels/attention/kv_format-inl.h"
#include "kernels/simd/unroll.h"

namespace hearth {
namespace {

constexpr uint32_t kTileRows = 6;

inline uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }
inline uint32_t larger(uint32_t a, uint32_t b) { return a < b ? b : a; }

struct SlotRange {
  uint32_t begin, end;
  bool empty() const { return begin >= end; }
};

// The function is inlined by force for the same reason as prefetch_l2().
[[gnu::always_inline]] inline void prefetch_bytes(const std::byte* p, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 64) prefetch_l2(p + i);
}

// The bytes to prefetch while half a page is read; nothing if `next` is null.
struct Stream {
  const std::byte* next;
  size_t quarter;  // the distance of the four places that take turns; 0: one place
  // Rows see the first `wanted` of every `row` bytes (a power of two), so these are prefetched from
  // `next`. The bytes between them are prefetched from `rest`, or not at all if it is null.
  size_t row, wanted;
  const std::byte* rest;

  // Prefetches the bytes that belong to [at, at + count) of the half that is read. A call takes
  // only a few lines: a core has few places for loads that wait for memory, and a burst that fills
  // them stops the loads of the loop.
  [[gnu::always_inline]] void prefetch_for(size_t at, size_t count) const {
    if (next == nullptr) return;
    if (quarter == 0) {
      for (size_t i = at; i < at + count; i += 64) prefetch_at(i);
      return;
    }
    for (size_t line = at / 64; line < (at + count) / 64; ++line) {
      prefetch_at(line % 4 * quarter + line / 4 * 64);
    }
  }

  // Prefetches scales, which lie behind the bytes that prefetch_for() takes.
  [[gnu::always_inline]] void prefetch_scales(size_t at, size_t count) const {
    if (next != nullptr) prefetch_bytes(next + at, count);
  }

 private:
  [[gnu::always_inline]] void prefetch_at(size_t i) const {
    const std::byte* from = (i & (row - 1)) < wanted ? next : rest;
    if (from != nullptr) prefetch_l2(from + i);
  }
};

// The keys of a page, as Format's elements [length][64 positions].
struct Keys {
  const void* elements;
  uint32_t length;
  float* unpacked;  // in the layout of `elements`, where the format unpacks
};

// The values of a page, as Format's elements [64 positions][stride].
struct Values {
  const void* elements;
  uint32_t stride;
  float* unpacked;  // in the layout of `elements`, where the format unpacks
};

inline float* at(float* p, size_t stride, int row, int vector) {
  return p + stride * static_cast<uint32_t>(row) + kLanes * static_cast<uint32_t>(vector);
}

// Clears the sums of a tile, of floats or integers.
template <typename Sums, int R, int N>
inline void clear(Sums (&acc)[R][N]) {
  HEARTH_UNROLL
  for (int r = 0; r < R; ++r) {
    HEARTH_UNROLL
    for (int n = 0; n < N; ++n) acc[r][n] = Sums::zero();
  }
}

// Calls fn(N, vector) for the vectors from `begin` to `end`, N of them at a time: kWide, then 2,
// then 1.
template <int kWide, typename Fn>
inline void for_vectors(uint32_t begin, uint32_t end, Fn&& fn) {
  uint32_t n = begin;
  for (; n + kWide <= end; n += kWide) fn(std::integral_constant<int, kWide>(), n);
  if constexpr (kWide > 2) {
    for (; n + 2 <= end; n += 2) fn(std::integral_constant<int, 2>(), n);
  }
  if constexpr (kWide > 1) {
    for (; n < end; ++n) fn(std::integral_constant<int, 1>(), n);
  }
}

// Format: the layout of the half (kv_format-inl.h), as in the page or unpacked. kWidth: vectors in
// a row of a tile.
template <typename Format, int kWidth>
class Tiles {
  using Element = typename Format::Element;

 public:
  // Computes scores[row][64] of `rows` rows, for the vectors of 16 positions that hold `slots`. q
  // is [length / 16][rows][16].
  static void score(uint32_t rows, const Keys& keys, const float* q, SlotRange slots, float* scores,
                    const Stream& stream) {
    kScore[rows - 1](keys, q, slots, scores, stream);
  }

  // Adds p[row][64] times the values of `slots` to acc[row][stride].
  static void add(uint32_t rows, const Values& values, const float* p, SlotRange slots, float* acc,
                  const Stream& stream) {
    kAdd[rows - 1](values, p, slots, acc, stream);
  }

 private:
  // Returns a tile's width in vectors. Few rows have few chains of fma. If registers are left, a
  // wider tile hides their latency.
  static constexpr int tile_width(int rows) { return kWidth == 1 && rows <= 2 ? 2 : kWidth; }

  template <int R>
  static void score_rows(const Keys& keys, const float* q, SlotRange slots, float* scores,
                         const Stream& stream) {
    constexpr int kWide = tile_width(R);
    const uint32_t begin = slots.begin / kLanes, end = (slots.end + kLanes - 1) / kLanes;
    for_vectors<kWide>(begin, end, [&]<int N>(std::integral_constant<int, N>, uint32_t vector) {
      const uint32_t column = vector * kLanes;
      score_columns<R, N>(keys, column, q, scores + column, vector == begin ? stream : Stream{});
    });
  }

  // The number of elements of the head that are added between two prefetches.
  static constexpr uint32_t kBurst = 4;

  template <int R, int N>
  static void score_columns(const Keys& keys, uint32_t column, const float* q, float* scores,
                            const Stream& stream) {
    constexpr size_t kRowBytes = kPagePositions * Format::kStoredBytes;
    const uint32_t length = keys.length;
    Vec16 acc[R][N];
    clear(acc);
    if (stream.next == nullptr) {
      for (uint32_t d = 0; d < length; d += kLanes) {
        score_elements<R, N>(keys, d, smaller(kLanes, length - d), column, q, acc);
      }
    } else {
      for (uint32_t d = 0; d < length; ++d) {
        if (d % kBurst == 0) stream.prefetch_for(d * kRowBytes, kBurst * kRowBytes);
        score_elements<R, N>(keys, d, 1, column, q, acc);
      }
    }
    HEARTH_UNROLL
    for (int r = 0; r < R; ++r) {
      HEARTH_UNROLL
      for (int n = 0; n < N; ++n) store(at(scores, kPagePositions, r, n), acc[r][n]);
    }
  }

  // Adds elements [d, d + count) of the head, which lie in one group of 16.
  template <int R, int N>
  [[gnu::always_inline]] static void score_elements(const Keys& keys, uint32_t d, uint32_t count,
                                                    uint32_t column, const float* q,
                                                    Vec16 (&acc)[R][N]) {
    const size_t offset = size_t{d} * kPagePositions + column;
    const Element* k = static_cast<const Element*>(keys.elements) + offset;
    float* unpacked = keys.unpacked + offset;
    q += size_t{d / kLanes} * R * kLanes + d % kLanes;
    for (const Element* end = k + size_t{count} * kPagePositions; k != end;
         k += kPagePositions, ++q) {
      Vec16 x[N];
      HEARTH_UNROLL
      for (int n = 0; n < N; ++n) {
        x[n] = Format::load(k + n * static_cast<int>(kLanes));
        if constexpr (Format::kUnpacks) store(unpacked + n * static_cast<int>(kLanes), x[n]);
      }
      if constexpr (Format::kUnpacks) unpacked += kPagePositions;
      HEARTH_UNROLL
      for (int r = 0; r < R; ++r) {
        Vec16 factor = Vec16::all(q[r * static_cast<int>(kLanes)]);
        HEARTH_UNROLL
        for (int n = 0; n < N; ++n) acc[r][n] = fma(factor, x[n], acc[r][n]);
      }
    }
  }

  template <int R>
  static void add_rows(const Values& values, const float* p, SlotRange slots, float* acc,
                       const Stream& stream) {
    constexpr int kWide = tile_width(R);
    for_vectors<kWide>(0, values.stride / kLanes,
                       [&]<int N>(std::integral_constant<int, N>, uint32_t vector) {
                         add_columns<R, N>(values, p, slots, vector, acc + vector * kLanes, stream);
                       });
  }

  template <int R, int N>
  static void add_columns(const Values& values, const float* p, SlotRange slots, uint32_t vector,
                          float* out, const Stream& stream) {
    const size_t stride = values.stride;
    Vec16 acc[R][N];
    HEARTH_UNROLL
    for (int r = 0; r < R; ++r) {
      HEARTH_UNROLL
      for (int n = 0; n < N; ++n) acc[r][n] = Vec16::load(at(out, stride, r, n));
    }
    // A cache line may hold vectors of several tiles; the first of these tiles prefetches it.
    constexpr size_t kVectorBytes = kLanes * Format::kStoredBytes;
    const bool first = N * kVectorBytes >= 64 || vector * kVectorBytes % 64 == 0;
    if (stream.next == nullptr || !first) {
      for (size_t j = slots.begin; j < slots.end; ++j) add_slot<R, N>(values, p, j, vector, acc);
    } else {
      for (size_t j = slots.begin; j < slots.end; ++j) {
        prefetch_slot<N>(values, stream, vector, j);
        add_slot<R, N>(values, p, j, vector, acc);
      }
    }
    HEARTH_UNROLL
    for (int r = 0; r < R; ++r) {
      HEARTH_UNROLL
      for (int n = 0; n < N; ++n) store(at(out, stride, r, n), acc[r][n]);
    }
  }

  // Prefetches the part of the stream that belongs to N vectors of slot j.
  template <int N>
  [[gnu::always_inline]] static void prefetch_slot(const Values& values, const Stream& stream,
                                                   uint32_t vector, size_t j) {
    constexpr size_t kVectorBytes = kLanes * Format::kStoredBytes;
    const size_t begin = vector * kVectorBytes;
    stream.prefetch_for(stream.quarter == 0 ? j * values.stride * Format::kStoredBytes + begin
                                            : begin * kPagePositions + j * N * kVectorBytes,
                        N * kVectorBytes);
  }

  template <int R, int N>
  [[gnu::always_inline]] static void add_slot(const Values& values, const float* p, size_t j,
                                              uint32_t vector, Vec16 (&acc)[R][N]) {
    const size_t offset = j * values.stride + vector * kLanes;
    const Element* v = static_cast<const Element*>(values.elements) + offset;
    Vec16 x[N];
    HEARTH_UNROLL
    for (int n = 0; n < N; ++n) {
      x[n] = Format::load(v + n * static_cast<int>(kLanes));
      if constexpr (Format::kUnpacks) {
        store(values.unpacked + offset + n * static_cast<int>(kLanes), x[n]);
      }
    }
    HEARTH_UNROLL
    for (int r = 0; r < R; ++r) {
      Vec16 factor = Vec16::all(p[size_t{kPagePositions} * static_cast<size_t>(r) + j]);
      HEARTH_UNROLL
      for (int n = 0; n < N; ++n) acc[r][n] = fma(factor, x[n], acc[r][n]);
    }
  }

  using ScoreFn = void (*)(const Keys&, const float*, SlotRange, float*, const Stream&);
  using AddFn = void (*)(const Values&, const float*, SlotRange, float*, const Stream&);
  static constexpr ScoreFn kScore[kTileRows] = {score_rows<1>, score_rows<2>, score_rows<3>,
                                                score_rows<4>, score_rows<5>, score_rows<6>};
  static constexpr AddFn kAdd[kTileRows] = {add_rows<1>, add_rows<2>, add_rows<3>,
                                            add_rows<4>, add_rows<5>, add_rows<6>};
};

}  // namespace
}  // namespace hearth
