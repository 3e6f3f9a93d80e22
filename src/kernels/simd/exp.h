// Defines exp on (-inf, 0], which every ISA level and the reference compute to the same bits.
//
//   exp_nonpositive(x) = 2^n p(r) with n = round(x / ln 2), r = x - n ln 2 in two fma steps,
//   p of degree 6 in Horner's form with p(0) = 1
//
// The relative error is below 1.2e-7 (p alone 3.1e-9, the rest is rounding). exp_nonpositive(0) is
// exactly 1. Below kExpFloor, where the result would be subnormal, and at -inf it is exactly 0. NaN
// stays NaN. The vector form is kernels/simd/exp-inl.h; ISA files take only the constants from
// here.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace hearth {

inline constexpr float kExpFloor = -87.33654f;  // 126 ln 2
inline constexpr float kLog2E = 0x1.715476p+0f;
inline constexpr float kLn2High = 0x1.62e43p-1f;
inline constexpr float kLn2Low = -0x1.05c61p-29f;
// Adding this to a float below 2^22 leaves the nearest integer in the low bits of the mantissa.
inline constexpr float kRoundMagic = 0x1.8p+23f;
// The coefficients are minimax in relative error over |r| <= ln 2 / 2, with the terms 1 + r fixed.
inline constexpr float kExp2 = 0x1.fffffcp-2f;
inline constexpr float kExp3 = 0x1.555492p-3f;
inline constexpr float kExp4 = 0x1.5558f2p-5f;
inline constexpr float kExp5 = 0x1.123a2p-7f;
inline constexpr float kExp6 = 0x1.6a23cep-10f;

inline float exp_nonpositive(float x) {
  if (x < kExpFloor) return 0.0f;
  float shifted = std::fma(x, kLog2E, kRoundMagic);
  float n = shifted - kRoundMagic;
  float r = std::fma(n, -kLn2High, x);
  r = std::fma(n, -kLn2Low, r);
  float p = kExp6;
  p = std::fma(p, r, kExp5);
  p = std::fma(p, r, kExp4);
  p = std::fma(p, r, kExp3);
  p = std::fma(p, r, kExp2);
  p = std::fma(p, r, 1.0f);
  p = std::fma(p, r, 1.0f);
  uint32_t power = (std::bit_cast<uint32_t>(shifted) << 23) + std::bit_cast<uint32_t>(1.0f);
  return p * std::bit_cast<float>(power);
}

}  // namespace hearth
