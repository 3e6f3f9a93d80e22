// Attention over latents, written once over Vec16 for all ISA levels: the contract of
// kernels/attention/latent.h in register tiles. ISA files include it after their Vec16.
//
// A page is first unpacked to floats, so that neither product converts anything
// (latent_tiles-inl.h).
#pragma once

#include <cstring>

#include "kernels/attention/kv_format-inl.h"
#include "kernels/attention/latent_tiles-inl.h"

namespace hearth {
namespace {

// A position of a page. After open(), load(d) returns elements [d, d + 16).
template <typename Format>
class LatentRow {
  using Element = typename Format::Element;

 public:
  static constexpr KvType kType = Format::kType;

  void open(const std::byte* page, uint32_t length, uint32_t slot) {
    x_ = reinterpret_cast<const Element*>(page) + size_t{slot} * padded_length(length);
  }
  Vec16 load(uint32_t d) const { return Format::load(x_ + d); }

  static void store(const KvStoreArgs& a) {
    const uint32_t stride = padded_length(a.key_length);
    auto* to = reinterpret_cast<Element*>(a.page.k) + size_t{a.slot} * stride;
    for (uint32_t d = 0; d < stride; d += kLanes) {
      Format::store16(to + d, head_vector(a.k, a.key_length, d));
    }
  }

 private:
  const Element* x_;
};

class LatentCodes {
 public:
  static constexpr KvType kType = KvType::kQ8_0;

  void open(const std::byte* page, uint32_t length, uint32_t slot) {
    codes_ = reinterpret_cast<const int8_t*>(page) + size_t{slot} * padded_length(length);
    const uint32_t blocks = kv_blocks(length);
    uint16_t halves[kMaxBlocks] = {};
    std::memcpy(halves, page + kv_scales_offset(length) + size_t{slot} * blocks * sizeof(uint16_t),
                blocks * sizeof(uint16_t));
    for (uint32_t b = 0; b < blocks; b += kLanes) {
      hearth::store(scales_ + b, Vec16::load_f16(halves + b));
    }
  }
  Vec16 load(uint32_t d) const {
    return mul(Vec16::load_i8(codes_ + d), Vec16::all(scales_[d / kKvBlock]));
  }

  static void store(const KvStoreArgs& a) {
    const uint32_t stride = padded_length(a.key_length), blocks = kv_blocks(a.key_length);
    auto* codes = reinterpret_cast<int8_t*>(a.page.k) + size_t{a.slot} * stride;
    auto* scales = reinterpret_cast<uint16_t*>(a.page.k + kv_scales_offset(a.key_length)) +
                   size_t{a.slot} * blocks;
    for_blocks(a.k, a.key_length,
               [&](uint32_t b, const BlockCodes& block, uint32_t d, uint32_t count) {
                 scales[b] = block.scale;
                 std::memcpy(codes + d, block.codes, count);
               });
  }

 private:
  static constexpr uint32_t kMaxBlocks = (kMaxLatentKey / kKvBlock + kLanes - 1) / kLanes * kLanes;
  const int8_t* codes_;
  float scales_[kMaxBlocks];
};

// Row: LatentRow<Format> or LatentCodes. kWidth as in LatentTiles.
template <typename Row, int kWidth>
class LatentAttention {
  using Products = LatentProducts<kWidth>;

 public:
  static void attend(const AttendArgs& a) {
    float* next = reinterpret_cast<float*>(a.scratch);
    auto take = [&](size_t floats) {
      float* taken = next;
      next += floats;
      return taken;
    };
    Page to{};
    to.keys = take(size_t{kPagePositions} * padded_length(a.key_length));
    to.values =
        take(size_t{kPagePositions} *
             ((padded_length(a.value_length) + kValueColumns - 1) / kValueColumns) * kValueColumns);
    RowBlock rows = Products::make_rows(a, take);
    Products::visit_spans(a, rows, [&](const RowBlock& b, uint32_t page, uint32_t end) {
      const auto view = view_page<kMaxLatentRows>(b, page);
      if (view.tile_count == 0) return;
      unpack(b, a.pages[page].k, view.any.end, to);
      Products::visit(b, view, to.keys, to.values, page + 1 < end ? a.pages[page + 1].k : a.after.k,
                      kv_half_bytes(Row::kType, b.key_length));
    });
  }

 private:
  struct Page {
    float *keys, *values;  // unpacked
  };

  static constexpr size_t kScratchFloats =
      size_t{kPagePositions} * (kMaxLatentKey + kMaxLatentValue) +
      size_t{kMaxLatentRows} * (kMaxLatentKey + kPagePositions + kLanes);
  static_assert(kScratchFloats * sizeof(float) <= kLatentScratchBytes);
  static_assert(kMaxLatentValue % kValueColumns == 0);

  // Unpacks slots up to `end`, in groups of 16. Slots behind it may get any values.
  static void unpack(const RowBlock& b, const std::byte* page, uint32_t end, const Page& to) {
    for (uint32_t slot = 0; slot < end; slot += kLanes) {
      Row rows[kLanes];
      for (uint32_t i = 0; i < kLanes; ++i) rows[i].open(page, b.key_length, slot + i);
      float* keys = to.keys + slot;
      for (uint32_t d = 0; d < b.value_stride; d += kLanes, keys += kLanes * kPagePositions) {
        const uint32_t column = d % kValueColumns;
        float* values = to.values + size_t{kPagePositions} * (d - column) +
                        size_t{slot} * kValueColumns + column;
        unpack_square<kValueColumns>(rows, d, values);
        transpose_square<kValueColumns>(values, keys);
      }
      for (uint32_t d = b.value_stride; d < b.key_stride;
           d += kLanes, keys += kLanes * kPagePositions) {
        alignas(64) float square[kLanes * kLanes];
        unpack_square<kLanes>(rows, d, square);
        transpose_square<kLanes>(square, keys);
      }
    }
  }

  // Unpacks elements [d, d + 16) of 16 positions.
  template <uint32_t kStride>
  static void unpack_square(const Row (&rows)[kLanes], uint32_t d, float* to) {
    HEARTH_UNROLL
    for (uint32_t i = 0; i < kLanes; ++i) store(to + size_t{i} * kStride, rows[i].load(d));
  }
};

}  // namespace
}  // namespace hearth
