// Narrow floating-point types as bit patterns and their exact conversions.
// f16: IEEE 754 binary16. bf16: the upper half of binary32. Conversions to the narrow type round to
// nearest, ties to even; NaN stays NaN, overflow goes to infinity, subnormals are kept.
#pragma once

#include <bit>
#include <cstdint>

namespace hearth {

using f16_t = uint16_t;
using bf16_t = uint16_t;

inline float bf16_to_f32(bf16_t h) { return std::bit_cast<float>(static_cast<uint32_t>(h) << 16); }

inline bf16_t f32_to_bf16(float f) {
  uint32_t u = std::bit_cast<uint32_t>(f);
  if ((u & 0x7fffffffu) > 0x7f800000u) return static_cast<bf16_t>((u >> 16) | 0x40u);
  return static_cast<bf16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}

inline float f16_to_f32(f16_t h) {
  uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  uint32_t exponent = (h >> 10) & 0x1fu;
  uint32_t mantissa = h & 0x3ffu;
  if (exponent == 0) {
    // Subnormal: mantissa * 2^-24, exact in binary32.
    float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
  }
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

inline f16_t f32_to_f16(float f) {
  uint32_t u = std::bit_cast<uint32_t>(f);
  uint32_t sign = (u >> 16) & 0x8000u;
  u &= 0x7fffffffu;
  if (u > 0x7f800000u) return static_cast<f16_t>(sign | 0x7e00u);
  if (u >= 0x477ff000u) return static_cast<f16_t>(sign | 0x7c00u);  // 65520 and above round to inf
  if (u < 0x38800000u) {
    // Below 2^-14: adding 0.5 aligns the mantissa so that the hardware rounds at 2^-24.
    float shifted = std::bit_cast<float>(u) + 0.5f;
    return static_cast<f16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  }
  uint32_t rounded = u + 0xfffu + ((u >> 13) & 1u);
  return static_cast<f16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

}  // namespace hearth
