#include "tensor/quantize_row.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "base/fp_types.h"
#include "tensor/fit_block.h"

namespace hearth {
namespace {

constexpr size_t kSuper = 256, kBlocks = kSuper / kBlock;
constexpr int kMost6 = 63;  // of a scale or a minimum in 6 bits

constexpr std::array kQuantized = {DType::kQ8_0, DType::kQ6_K, DType::kQ5_K, DType::kQ4_K,
                                   DType::kQ4_0};

// Writes it and returns what is read back.
float put_f16(float value, std::byte* out) {
  const f16_t half = f32_to_f16(value);
  std::memcpy(out, &half, sizeof half);
  return f16_to_f32(half);
}

std::byte byte_of(int value) { return static_cast<std::byte>(value); }

const float* weights_at(const float* weights, size_t at) {
  return weights == nullptr ? nullptr : weights + at;
}

void write_q8_0(const float* x, const float* weights, std::byte* out) {
  const float scale = put_f16(fit_scale(x, kBlock, kCodes8, weights), out);
  int8_t codes[kBlock];
  nearest_codes(x, kBlock, kCodes8, {scale, 0}, codes);
  std::memcpy(out + 2, codes, kBlock);
}

void write_q4_0(const float* x, const float* weights, std::byte* out) {
  const float scale = put_f16(fit_scale(x, kBlock, kCodes4, weights), out);
  int8_t codes[kBlock];
  nearest_codes(x, kBlock, kCodes4, {scale, 0}, codes);
  for (size_t i = 0; i < kBlock / 2; ++i) {
    out[2 + i] = byte_of((codes[i] + 8) | (codes[kBlock / 2 + i] + 8) << 4);
  }
}

// The scales and minima of a super-block's blocks, as they are read back.
struct SixBitScales {
  ScaleAndMin of[kBlocks];

  // Writes d, dmin and 12 bytes of 6-bit numbers; ScaleMin6 says how these lie.
  SixBitScales(const ScaleAndMin (&fitted)[kBlocks], std::byte* out) {
    float scale = 0, min = 0;
    for (const ScaleAndMin& block : fitted) {
      // A scale that is no number stays the largest.
      scale = scale >= block.scale || std::isnan(scale) ? scale : block.scale;
      min = std::max(min, block.min);
    }
    const float d = put_f16(scale / kMost6, out), dmin = put_f16(min / kMost6, out + 2);
    std::byte* packed = out + 4;
    std::memset(packed, 0, 12);
    for (size_t part = 0; part < kBlocks; ++part) {
      const int s = number_of(fitted[part].scale, d), m = number_of(fitted[part].min, dmin);
      of[part] = {d * static_cast<float>(s), dmin * static_cast<float>(m)};
      if (part < 4) {
        packed[part] |= byte_of(s);
        packed[part + 4] |= byte_of(m);
      } else {
        packed[part + 4] |= byte_of((s & 15) | (m & 15) << 4);
        packed[part - 4] |= byte_of(s >> 4 << 6);
        packed[part] |= byte_of(m >> 4 << 6);
      }
    }
  }

  static int number_of(float value, float unit) {
    const float number = value / unit;
    return number > 0 ? static_cast<int>(std::min(std::nearbyint(number), float{kMost6})) : 0;
  }
};

// The codes of a super-block with minima.
struct MinCodes {
  int8_t of[kSuper];

  MinCodes(const float* x, const float* weights, int high, std::byte* out) {
    ScaleAndMin fitted[kBlocks];
    for (size_t part = 0; part < kBlocks; ++part) {
      const size_t at = part * kBlock;
      fitted[part] = fit_scale_and_min(x + at, high, weights_at(weights, at));
    }
    const SixBitScales scales(fitted, out);
    for (size_t part = 0; part < kBlocks; ++part) {
      const size_t at = part * kBlock;
      nearest_codes(x + at, kBlock, {0, high}, scales.of[part], of + at);
    }
  }

  // Two blocks share 32 bytes.
  void put_nibbles(std::byte* out) const {
    for (size_t i = 0; i < kSuper / 2; ++i) {
      const size_t at = i / kBlock * 2 * kBlock + i % kBlock;
      out[i] = byte_of((of[at] & 15) | (of[at + kBlock] & 15) << 4);
    }
  }
};

void write_q4_k(const float* x, const float* weights, std::byte* out) {
  MinCodes(x, weights, 15, out).put_nibbles(out + 16);
}

void write_q5_k(const float* x, const float* weights, std::byte* out) {
  const MinCodes codes(x, weights, 31, out);
  codes.put_nibbles(out + 48);
  for (size_t i = 0; i < kBlock; ++i) {
    int fifth = 0;
    for (size_t part = 0; part < kBlocks; ++part) {
      fifth |= codes.of[part * kBlock + i] >> 4 << part;
    }
    out[16 + i] = byte_of(fifth);
  }
}

constexpr size_t kHalf = kBlock / 2, kHalves = kSuper / kHalf;

// Writes d and the scales of half blocks, and gives these back as they are read.
void put_q6_scales(const float* x, const float* weights, float (&scales)[kHalves], std::byte* out) {
  float largest = 0;
  for (size_t h = 0; h < kHalves; ++h) {
    scales[h] = fit_scale(x + h * kHalf, kHalf, kCodes6, weights_at(weights, h * kHalf));
    const bool kept = std::fabs(largest) >= std::fabs(scales[h]) || std::isnan(largest);
    largest = kept ? largest : scales[h];
  }
  const float d = put_f16(largest / -128, out + 208);  // there is no scale of 128
  for (size_t h = 0; h < kHalves; ++h) {
    const float number = scales[h] / d;
    const float whole = std::isfinite(number) ? std::nearbyint(number) : 0;
    const int scale = static_cast<int>(std::clamp(whole, -128.0f, 127.0f));
    out[192 + h] = byte_of(scale);
    scales[h] = d * static_cast<float>(scale);
  }
}

void write_q6_k(const float* x, const float* weights, std::byte* out) {
  float scales[kHalves];
  put_q6_scales(x, weights, scales, out);
  int8_t codes[kSuper];
  for (size_t h = 0; h < kHalves; ++h) {
    nearest_codes(x + h * kHalf, kHalf, kCodes6, {scales[h], 0}, codes + h * kHalf);
  }
  for (size_t i = 0; i < kSuper; ++i) codes[i] = static_cast<int8_t>(codes[i] + 32);
  // In each half of 128 elements two blocks share the nibbles of 32 bytes, and four the pairs of
  // bits of 32.
  for (size_t i = 0; i < kSuper / 2; ++i) {
    const size_t at = i / 64 * 128 + i % 64;
    out[i] = byte_of((codes[at] & 15) | (codes[at + 64] & 15) << 4);
  }
  for (size_t i = 0; i < kSuper / 4; ++i) {
    const size_t at = i / kBlock * 128 + i % kBlock;
    int pairs = 0;
    for (size_t part = 0; part < 4; ++part) pairs |= codes[at + part * kBlock] >> 4 << 2 * part;
    out[128 + i] = byte_of(pairs);
  }
}

using WriteBlock = void (*)(const float*, const float*, std::byte*);

WriteBlock writer_of(DType dtype) {
  if (dtype == DType::kQ8_0) return write_q8_0;
  if (dtype == DType::kQ6_K) return write_q6_k;
  if (dtype == DType::kQ5_K) return write_q5_k;
  if (dtype == DType::kQ4_K) return write_q4_k;
  HEARTH_CHECK(dtype == DType::kQ4_0, "rows of this type are not written");
  return write_q4_0;
}

}  // namespace

std::span<const DType> quantized_dtypes() { return kQuantized; }

void quantize_row(DType dtype, const float* x, size_t n, const float* column_weights,
                  std::byte* out) {
  const DTypeInfo& info = dtype_info(dtype);
  HEARTH_CHECK(n % info.block_elements == 0, "a row is whole blocks");
  const WriteBlock write = writer_of(dtype);
  for (size_t at = 0; at < n; at += info.block_elements, out += info.block_bytes) {
    write(x + at, weights_at(column_weights, at), out);
  }
}

}  // namespace hearth
