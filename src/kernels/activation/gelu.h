// The upper tail of the normal distribution on [-kGeluEnd, 0], which every ISA level and the
// reference compute to the same bits: Q(-n) = exp_nonpositive(P(n)), P(n) near ln(erfc(-n / sqrt 2)
// / 2).
//
// P is minimax in relative error over [-5.5, 0], against the library's erfc. It was found by a
// Remez exchange in double over 6000 Chebyshev points, and its coefficients were then rounded to
// binary32. Computed exactly, P is within 3.4e-8 of the logarithm; computed in binary32, within
// 1.7e-7. The logarithm goes from -0.69 to -17.8, so the relative error of Q is below 1.2e-7 +
// 1.7e-7 |ln Q|, its absolute error below 1e-7.
#pragma once

namespace hearth {

inline constexpr float kGeluEnd = 5.5f;
// The coefficients of P by ascending power.
inline constexpr float kGelu[] = {-0x1.62e43p-1f,   0x1.988484p-1f,   -0x1.45ef3ep-2f,
                                  0x1.2a1574p-5f,   0x1.3f38a8p-8f,   0x1.784d9ap-15f,
                                  -0x1.6a7e8ap-13f, -0x1.8b7676p-15f, -0x1.be161ap-18f,
                                  -0x1.129172p-21f, -0x1.22dc36p-26f};
inline constexpr int kGeluDegree = 10;

}  // namespace hearth
