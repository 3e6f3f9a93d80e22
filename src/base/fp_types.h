// Narrow floating-point types as bit patterns and their exact conversions.
// e4m3: FP8 with sign, 4 bits of exponent (bias 7), 3 of mantissa, as in "FP8 Formats for Deep
// Learning" (arXiv 2209.05433): no infinity, 0x7f and 0xff NaN, largest value 448, subnormals m
// 2^-9. f16: IEEE 754 binary16. bf16: the upper half of binary32. Conversions to the narrow type
// round to nearest, ties to even; NaN stays NaN, overflow goes to infinity, subnormals are kept.
#pragma once

#include <bit>
#include <cstdint>

namespace hearth {

using f16_t = uint16_t;
using bf16_t = uint16_t;
using e4m3_t = uint8_t;

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
    // A subnormal is mantissa * 2^-24, exact in binary32.
    float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
  }
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

constexpr float e4m3_to_f32(e4m3_t code) {
  const uint32_t sign = static_cast<uint32_t>(code & 0x80u) << 24;
  const uint32_t magnitude = code & 0x7fu;
  if (magnitude == 0x7f) return std::bit_cast<float>(sign | 0x7fc00000u);
  if (magnitude >= 8) return std::bit_cast<float>(sign | ((magnitude << 20) + (120u << 23)));
  const float subnormal = static_cast<float>(magnitude) * 0x1p-9f;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(subnormal) | sign);
}

// Returns 2^(code - 127), the scale of the Microscaling formats (OCP MX 1.0). For 255, their NaN,
// returns infinity: sums with it are not finite either.
inline float e8m0_to_f32(uint8_t code) {
  return std::bit_cast<float>(code == 0 ? 0x00400000u : uint32_t{code} << 23);
}

inline f16_t f32_to_f16(float f) {
  uint32_t u = std::bit_cast<uint32_t>(f);
  uint32_t sign = (u >> 16) & 0x8000u;
  u &= 0x7fffffffu;
  if (u > 0x7f800000u) return static_cast<f16_t>(sign | 0x7e00u);
  if (u >= 0x477ff000u) return static_cast<f16_t>(sign | 0x7c00u);  // 65520 and above round to inf
  if (u < 0x38800000u) {
    // Adding 0.5 to a number below 2^-14 aligns the mantissa, so that the hardware rounds at 2^-24.
    float shifted = std::bit_cast<float>(u) + 0.5f;
    return static_cast<f16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  }
  uint32_t rounded = u + 0xfffu + ((u >> 13) & 1u);
  return static_cast<f16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

}  // namespace hearth
