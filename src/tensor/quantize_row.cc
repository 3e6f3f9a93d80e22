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
constexpr size_t kAtOnce = 2 * kSuper;  // elements whose blocks are fitted together
constexpr int kMaxSixBits = 63;         // the largest scale or minimum in 6 bits

constexpr std::array kQuantized = {DType::kQ8_0, DType::kQ6_K, DType::kQ5_K, DType::kQ4_K,
                                   DType::kQ4_0};

// The fitted scales and minima of a row's blocks. Before the codes are computed, these scales and
// minima are replaced by the rounded ones that are written.
struct FittedBlocks {
  const CodeKind& kind;
  const float* x;
  size_t blocks;
  ScaleAndMin of[kAtOnce / 16];
  int8_t codes[kAtOnce];

  FittedBlocks(const CodeKind& which, const float* elements, size_t n, const float* weights)
      : kind(which), x(elements), blocks(n / which.elements) {
    level().fit(kind, x, blocks, weights, of);
  }
  void find_codes() { level().nearest(kind, x, blocks, of, codes); }
  const int8_t* codes_of(size_t block) const { return codes + block * kind.elements; }

 private:
  static const FitLevel& level() { return *fit_levels().back(); }
};

// Writes a number as f16, and returns the written number.
float put_f16(float value, std::byte* out) {
  const f16_t half = f32_to_f16(value);
  std::memcpy(out, &half, sizeof half);
  return f16_to_f32(half);
}

std::byte byte_of(int value) { return static_cast<std::byte>(value); }

// Writes N bytes, each of the low 4 bits of two codes.
template <size_t N>
void put_nibbles(const int8_t* low, const int8_t* high, std::byte* out) {
  uint8_t bytes[N];  // loops over bytes that may alias the codes do not vectorise
  for (size_t i = 0; i < N; ++i) {
    bytes[i] = static_cast<uint8_t>((low[i] & 15) | (high[i] & 15) << 4);
  }
  std::memcpy(out, bytes, N);
}

// Writes the scales of blocks of 32, `block_bytes` apart, and finds the codes for the written
// scales.
void put_scales(FittedBlocks& fitted, size_t block_bytes, std::byte* out) {
  for (size_t b = 0; b < fitted.blocks; ++b) {
    fitted.of[b].scale = put_f16(fitted.of[b].scale, out + b * block_bytes);
  }
  fitted.find_codes();
}

void write_q8_0(const float* x, size_t n, const float* weights, std::byte* out) {
  FittedBlocks fitted(kCodes8, x, n, weights);
  put_scales(fitted, 2 + kBlock, out);
  for (size_t b = 0; b < fitted.blocks; ++b, out += 2 + kBlock) {
    std::memcpy(out + 2, fitted.codes_of(b), kBlock);
  }
}

void write_q4_0(const float* x, size_t n, const float* weights, std::byte* out) {
  FittedBlocks fitted(kCodes4, x, n, weights);
  put_scales(fitted, 2 + kBlock / 2, out);
  for (size_t b = 0; b < fitted.blocks; ++b, out += 2 + kBlock / 2) {
    int8_t codes[kBlock];
    for (size_t i = 0; i < kBlock; ++i) codes[i] = static_cast<int8_t>(fitted.codes_of(b)[i] + 8);
    put_nibbles<kBlock / 2>(codes, codes + kBlock / 2, out + 2);
  }
}

// Returns the nearest whole number.
float rounded(float x) { return x + 0x1.8p23f - 0x1.8p23f; }

int six_bits_of(float value, float unit) {
  const float number = value / unit;
  return number > 0 ? static_cast<int>(rounded(std::min(number, float{kMaxSixBits}))) : 0;
}

// Writes d, dmin and 12 bytes of 6-bit numbers for a super-block's scales and minima, and replaces
// these by the written ones. ScaleMin6 describes the layout.
void put_six_bit_scales(ScaleAndMin* of, std::byte* out) {
  float scale = 0, min = 0;
  for (size_t part = 0; part < kBlocks; ++part) {
    // If a scale is NaN, the largest one becomes NaN and stays so.
    scale = scale >= of[part].scale || std::isnan(scale) ? scale : of[part].scale;
    min = std::max(min, of[part].min);
  }
  const float d = put_f16(scale / kMaxSixBits, out), dmin = put_f16(min / kMaxSixBits, out + 2);
  std::byte* packed = out + 4;
  std::memset(packed, 0, 12);
  for (size_t part = 0; part < kBlocks; ++part) {
    const int s = six_bits_of(of[part].scale, d), m = six_bits_of(of[part].min, dmin);
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

// Finds the codes of super-blocks with minima, and writes their scales, `super_bytes` apart.
void put_min_scales(FittedBlocks& fitted, size_t super_bytes, std::byte* out) {
  for (size_t b = 0; b < fitted.blocks; b += kBlocks, out += super_bytes) {
    put_six_bit_scales(fitted.of + b, out);
  }
  fitted.find_codes();
}

// Writes the low 4 bits of a super-block's codes. Two blocks share 32 bytes.
void put_super_nibbles(const int8_t* codes, std::byte* out) {
  for (size_t part = 0; part < kBlocks; part += 2, out += kBlock) {
    put_nibbles<kBlock>(codes + part * kBlock, codes + (part + 1) * kBlock, out);
  }
}

void write_q4_k(const float* x, size_t n, const float* weights, std::byte* out) {
  constexpr size_t kBytes = 16 + kSuper / 2;
  FittedBlocks fitted(kMinCodes4, x, n, weights);
  put_min_scales(fitted, kBytes, out);
  for (size_t b = 0; b < fitted.blocks; b += kBlocks, out += kBytes) {
    put_super_nibbles(fitted.codes_of(b), out + 16);
  }
}

void write_q5_k(const float* x, size_t n, const float* weights, std::byte* out) {
  constexpr size_t kBytes = 48 + kSuper / 2;
  FittedBlocks fitted(kMinCodes5, x, n, weights);
  put_min_scales(fitted, kBytes, out);
  for (size_t b = 0; b < fitted.blocks; b += kBlocks, out += kBytes) {
    const int8_t* codes = fitted.codes_of(b);
    put_super_nibbles(codes, out + 48);
    uint8_t fifth[kBlock] = {};
    for (size_t part = 0; part < kBlocks; ++part) {
      for (size_t i = 0; i < kBlock; ++i) {
        fifth[i] = static_cast<uint8_t>(fifth[i] | codes[part * kBlock + i] >> 4 << part);
      }
    }
    std::memcpy(out + 16, fifth, kBlock);
  }
}

constexpr size_t kHalf = kBlock / 2, kHalves = kSuper / kHalf;

// Writes d and the scales of a super-block's halves of blocks, and replaces these scales by the
// written ones.
void put_q6_scales(ScaleAndMin* of, std::byte* out) {
  float largest = 0;
  for (size_t h = 0; h < kHalves; ++h) {
    const bool kept = std::fabs(largest) >= std::fabs(of[h].scale) || std::isnan(largest);
    largest = kept ? largest : of[h].scale;
  }
  const float d = put_f16(largest / -128, out + 208);  // -128 is a scale, 128 is not
  for (size_t h = 0; h < kHalves; ++h) {
    const float number = of[h].scale / d;
    const float whole = std::isfinite(number) ? number : 0;
    const int scale = static_cast<int>(rounded(std::clamp(whole, -128.0f, 127.0f)));
    out[192 + h] = byte_of(scale);
    of[h].scale = d * static_cast<float>(scale);
  }
}

// Writes the codes of half a super-block. Two blocks share the nibbles of 32 bytes, and four the
// pairs of bits of 32.
void put_q6_codes(const int8_t* signed_codes, std::byte* nibbles, std::byte* pairs) {
  int8_t codes[4 * kBlock];
  for (size_t i = 0; i < 4 * kBlock; ++i) codes[i] = static_cast<int8_t>(signed_codes[i] + 32);
  put_nibbles<2 * kBlock>(codes, codes + 2 * kBlock, nibbles);
  uint8_t bytes[kBlock] = {};
  for (size_t part = 0; part < 4; ++part) {
    for (size_t i = 0; i < kBlock; ++i) {
      bytes[i] = static_cast<uint8_t>(bytes[i] | codes[part * kBlock + i] >> 4 << 2 * part);
    }
  }
  std::memcpy(pairs, bytes, kBlock);
}

void write_q6_k(const float* x, size_t n, const float* weights, std::byte* out) {
  constexpr size_t kBytes = 210;
  FittedBlocks fitted(kCodes6, x, n, weights);
  for (size_t h = 0; h < fitted.blocks; h += kHalves) {
    put_q6_scales(fitted.of + h, out + h / kHalves * kBytes);
  }
  fitted.find_codes();
  for (size_t h = 0; h < fitted.blocks; h += kHalves, out += kBytes) {
    put_q6_codes(fitted.codes_of(h), out, out + 128);
    put_q6_codes(fitted.codes_of(h + kHalves / 2), out + 64, out + 160);
  }
}

using WriteBlocks = void (*)(const float* x, size_t n, const float* weights, std::byte* out);

WriteBlocks writer_of(DType dtype) {
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
  const WriteBlocks write = writer_of(dtype);
  for (size_t at = 0; at < n; at += kAtOnce) {
    const size_t count = std::min(kAtOnce, n - at);
    write(x + at, count, column_weights == nullptr ? nullptr : column_weights + at, out);
    out += row_bytes(dtype, count);
  }
}

}  // namespace hearth
