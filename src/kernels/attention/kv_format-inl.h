// The layout of elements of each type in a KV page, over Vec16: loading 16 elements of a float
// type, and storing one position of any type. ISA files include it after their Vec16.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/attention/attention.h"

namespace hearth {
namespace {

// kUnpacks: whether the reader also stores the floats that `load` returns. kStoredBytes: the bytes
// of an element in the page.
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

// Reads a page of Format and stores the floats that it returns, for other tiles.
template <typename Format>
struct Unpacking : Format {
  static constexpr bool kUnpacks = true;
};

// Reads the floats that Unpacking stored.
template <typename Format>
struct Unpacked {
  using Element = float;
  static constexpr bool kUnpacks = false;
  static constexpr size_t kStoredBytes = Format::kStoredBytes;
  static Vec16 load(const float* p) { return Vec16::load(p); }
};

// Returns elements [d, d + 16) of a key, a value or a query, with zeros for padding.
inline Vec16 head_vector(const float* x, uint32_t length, uint32_t d) {
  if (d >= length) return Vec16::zero();
  return length - d >= 16 ? Vec16::load(x + d) : Vec16::load_part(x + d, length - d);
}

template <typename Format>
inline void store_position(const KvStoreArgs& a) {
  using Element = typename Format::Element;
  const uint32_t key_stride = padded_length(a.key_length);
  const uint32_t value_stride = padded_length(a.value_length);
  Element* k = reinterpret_cast<Element*>(a.page.k) + a.slot;
  Element* v = reinterpret_cast<Element*>(a.page.v) + size_t{a.slot} * value_stride;
  for (uint32_t d = 0; d < key_stride; d += 16) {
    Element column[16];
    Format::store16(column, head_vector(a.k, a.key_length, d));
    for (uint32_t i = 0; i < 16; ++i) k[size_t{d + i} * kPagePositions] = column[i];
  }
  for (uint32_t d = 0; d < value_stride; d += 16) {
    Format::store16(v + d, head_vector(a.v, a.value_length, d));
  }
}

struct BlockCodes {
  uint16_t scale;
  int8_t codes[kKvBlock];
};

inline BlockCodes quantise_block(Vec16 low, Vec16 high) {
  float amax = maximum(max(absolute(low), absolute(high)));
  // The sum is zero, or NaN if an element is not finite.
  float zeros = sum(fma(Vec16::zero(), low, mul(Vec16::zero(), high)));
  uint16_t halves[16];
  store_f16(halves, Vec16::all(amax / 127.0f + zeros));
  BlockCodes block{halves[0], {}};
  Vec16 scale = Vec16::load_f16(halves);
  float scale_lanes[16];
  store(scale_lanes, scale);
  if (!(scale_lanes[0] > 0.0f)) return block;
  float rounded[kKvBlock];
  Vec16 limit = Vec16::all(127.0f);
  for (uint32_t h = 0; h < 2; ++h) {
    Vec16 x = div(h == 0 ? low : high, scale);
    // x is clamped before it is rounded, which gives the same codes and keeps round() in its range.
    x = negate(max(negate(limit), negate(max(negate(limit), x))));
    store(rounded + h * 16, round(x));
  }
  for (uint32_t i = 0; i < kKvBlock; ++i) block.codes[i] = static_cast<int8_t>(rounded[i]);
  return block;
}

// Calls fn(block, codes, first element, elements) for each block of x.
template <typename Fn>
inline void for_blocks(const float* x, uint32_t length, Fn&& fn) {
  const uint32_t padded = padded_length(length);
  for (uint32_t b = 0; b < kv_blocks(length); ++b) {
    const uint32_t d = b * kKvBlock;
    const uint32_t count = padded - d < kKvBlock ? padded - d : kKvBlock;
    fn(b, quantise_block(head_vector(x, length, d), head_vector(x, length, d + 16)), d, count);
  }
}

inline void store_codes(const KvStoreArgs& a) {
  const size_t pair = size_t{a.slot / 2 * 2} * padded_length(a.value_length);
  int8_t* k = reinterpret_cast<int8_t*>(a.page.k) + size_t{2} * a.slot;
  int8_t* v = reinterpret_cast<int8_t*>(a.page.v) + pair + a.slot % 2;
  auto scales = [&](std::byte* half, uint32_t length) {
    return reinterpret_cast<uint16_t*>(half + kv_scales_offset(length)) + a.slot;
  };
  uint16_t* k_scale = scales(a.page.k, a.key_length);
  uint16_t* v_scale = scales(a.page.v, a.value_length);
  for_blocks(a.k, a.key_length, [&](uint32_t b, const BlockCodes& key, uint32_t d, uint32_t count) {
    k_scale[b * kPagePositions] = key.scale;
    for (uint32_t i = 0; i < count; ++i) {
      k[size_t{(d + i) / 2 * 2} * kPagePositions + i % 2] = key.codes[i];
    }
  });
  for_blocks(a.v, a.value_length,
             [&](uint32_t b, const BlockCodes& value, uint32_t d, uint32_t count) {
               v_scale[b * kPagePositions] = value.scale;
               for (uint32_t i = 0; i < count; ++i) v[size_t{2} * (d + i)] = value.codes[i];
             });
}

}  // namespace
}  // namespace hearth
