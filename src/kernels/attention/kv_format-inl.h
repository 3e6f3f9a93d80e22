// How a KV page holds elements of each type, over Vec16: loading 16 of a float type, and storing
// one position of any. For ISA files, which include it after their Vec16.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/attention/attention.h"

namespace hearth {
namespace {

// kUnpacks: who reads also stores what `load` gives. kStoredBytes: of an element in the page.
struct FormatF32 {
  using Element = float;
  static constexpr KvType kType = KvType::kF32;
  static constexpr bool kUnpacks = false;
  static constexpr size_t kStoredBytes = sizeof(Element);
  static Vec16 load(const float* p) { return Vec16::load(p); }
  static void store16(float* p, Vec16 x) { store(p, x); }
};

struct FormatF16 {
  using Element = uint16_t;
  static constexpr KvType kType = KvType::kF16;
  static constexpr bool kUnpacks = false;
  static constexpr size_t kStoredBytes = sizeof(Element);
  static Vec16 load(const uint16_t* p) { return Vec16::load_f16(p); }
  static void store16(uint16_t* p, Vec16 x) { store_f16(p, x); }
};

struct FormatBF16 {
  using Element = uint16_t;
  static constexpr KvType kType = KvType::kBF16;
  static constexpr bool kUnpacks = false;
  static constexpr size_t kStoredBytes = sizeof(Element);
  static Vec16 load(const uint16_t* p) { return Vec16::load_bf16(p); }
  static void store16(uint16_t* p, Vec16 x) { store_bf16(p, x); }
};

// A page of Format that becomes floats while it is read.
template <typename Format>
struct Unpacking : Format {
  static constexpr bool kUnpacks = true;
};

// What it became.
template <typename Format>
struct Unpacked {
  using Element = float;
  static constexpr bool kUnpacks = false;
  static constexpr size_t kStoredBytes = Format::kStoredBytes;
  static Vec16 load(const float* p) { return Vec16::load(p); }
};

// Elements [d, d + 16) of a head, the padding as zero.
inline Vec16 head_vector(const float* x, uint32_t head_dim, uint32_t d) {
  if (d >= head_dim) return Vec16::zero();
  return head_dim - d >= 16 ? Vec16::load(x + d) : Vec16::load_part(x + d, head_dim - d);
}

template <typename Format>
inline void store_position(const KvStoreArgs& a) {
  using Element = typename Format::Element;
  uint32_t padded = padded_head_dim(a.head_dim);
  Element* k = reinterpret_cast<Element*>(a.page.k) + a.slot;
  Element* v = reinterpret_cast<Element*>(a.page.v) + size_t{a.slot} * padded;
  for (uint32_t d = 0; d < padded; d += 16) {
    Element column[16];
    Format::store16(column, head_vector(a.k, a.head_dim, d));
    for (uint32_t i = 0; i < 16; ++i) k[size_t{d + i} * kPagePositions] = column[i];
    Format::store16(v + d, head_vector(a.v, a.head_dim, d));
  }
}

struct BlockCodes {
  uint16_t scale;
  int8_t codes[kKvBlock];
};

inline BlockCodes quantise_block(Vec16 low, Vec16 high) {
  float amax = maximum(max(absolute(low), absolute(high)));
  uint16_t halves[16];
  store_f16(halves, Vec16::all(amax / 127.0f));
  BlockCodes block{halves[0], {}};
  Vec16 scale = Vec16::load_f16(halves);
  float scale_lanes[16];
  store(scale_lanes, scale);
  if (scale_lanes[0] == 0.0f) return block;
  float rounded[kKvBlock];
  Vec16 limit = Vec16::all(127.0f);
  for (uint32_t h = 0; h < 2; ++h) {
    Vec16 x = div(h == 0 ? low : high, scale);
    // Clamped before it is rounded, which gives the same and keeps round() in its range.
    x = negate(max(negate(limit), negate(max(negate(limit), x))));
    store(rounded + h * 16, round(x));
  }
  for (uint32_t i = 0; i < kKvBlock; ++i) block.codes[i] = static_cast<int8_t>(rounded[i]);
  return block;
}

inline void store_codes(const KvStoreArgs& a) {
  const uint32_t padded = padded_head_dim(a.head_dim);
  const size_t scales = kv_scales_offset(a.head_dim);
  int8_t* k = reinterpret_cast<int8_t*>(a.page.k) + size_t{2} * a.slot;
  int8_t* v = reinterpret_cast<int8_t*>(a.page.v) + size_t{a.slot / 2 * 2} * padded + a.slot % 2;
  uint16_t* k_scale = reinterpret_cast<uint16_t*>(a.page.k + scales) + a.slot;
  uint16_t* v_scale = reinterpret_cast<uint16_t*>(a.page.v + scales) + a.slot;
  for (uint32_t b = 0; b < kv_blocks(a.head_dim); ++b) {
    const uint32_t d = b * kKvBlock;
    const uint32_t count = padded - d < kKvBlock ? padded - d : kKvBlock;
    const BlockCodes key =
        quantise_block(head_vector(a.k, a.head_dim, d), head_vector(a.k, a.head_dim, d + 16));
    const BlockCodes value =
        quantise_block(head_vector(a.v, a.head_dim, d), head_vector(a.v, a.head_dim, d + 16));
    k_scale[b * kPagePositions] = key.scale;
    v_scale[b * kPagePositions] = value.scale;
    for (uint32_t i = 0; i < count; ++i) {
      k[size_t{(d + i) / 2 * 2} * kPagePositions + i % 2] = key.codes[i];
      v[size_t{2} * (d + i)] = value.codes[i];
    }
  }
}

}  // namespace
}  // namespace hearth
