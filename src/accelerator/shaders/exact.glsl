// Arithmetic with the bits of kernels/: a fused multiply-add, and values that compilers cannot
// simplify. Include it after the push constants, which end with `uint zero` in a block named `p`.
//
// FUSED is defined where the driver's fma() was found to be fused. Elsewhere a product of two
// floats is exact in binary64, the sum with the third is rounded to odd, and the rounding to
// binary32 that follows is then right (Boldo and Melquiond 2008).
//
// Newer Mesa drops a rounding to float between two such sums (a float made of a double and made a
// double again); `precise` does not forbid it. So every result passes through its bits, xor-ed with
// a zero that the compiler does not know.

float opaque(float x) { return uintBitsToFloat(floatBitsToUint(x) ^ p.zero); }

// Whether x is less than a negative bound, whose bits are given; false for a NaN. It compares
// integers: a compiler may turn comparisons of floats into min(), max() or the opposite comparison,
// and those lose NaNs.
bool below(float x, uint bound) {
  uint bits = floatBitsToUint(x);
  return bits > bound && bits <= 0xff800000u;
}

#ifdef FUSED
float fused(float a, float b, float c) {
  precise float r = fma(a, b, c);
  return r;
}
#else
float fused(float a, float b, float c) {
  precise double q = double(a) * double(b), d = double(c);
  precise double s = q + d;
  precise double t = s - q;
  precise double u = s - t;
  precise double v = q - u;
  precise double w = d - t;
  precise double e = v + w;  // s + e = q + d exactly
  uvec2 k = unpackDouble2x32(s);
  // If s is infinite, its error e is a NaN, and adding 1 to the bits of s would make a NaN. So s
  // then stays as it is.
  bool finite = (k.y & 0x7ff00000u) != 0x7ff00000u;
  if (finite && e != 0.0 && (k.x & 1u) == 0u) {
    bool up = (e > 0.0) == (s > 0.0);
    if (up) {
      k.x += 1u;
    } else {
      if (k.x == 0u) k.y -= 1u;
      k.x -= 1u;
    }
    s = packDouble2x32(k);
  }
  return opaque(float(s));
}
#endif

// The exponential function of kernels/simd/exp.h, for x of at most 0.
float exp_nonpositive(float x) {
  if (below(x, 0xc2aeac4fu)) return 0.0;
  precise float shifted = fused(x, uintBitsToFloat(0x3fb8aa3bu), 12582912.0);
  precise float n = shifted - 12582912.0;
  precise float r = fused(n, -uintBitsToFloat(0x3f317218u), x);
  r = fused(n, uintBitsToFloat(0x3102e308u), r);
  precise float q = uintBitsToFloat(0x3ab511e7u);
  q = fused(q, r, uintBitsToFloat(0x3c091d10u));
  q = fused(q, r, uintBitsToFloat(0x3d2aac79u));
  q = fused(q, r, uintBitsToFloat(0x3e2aaa49u));
  q = fused(q, r, uintBitsToFloat(0x3efffffeu));
  q = fused(q, r, 1.0);
  q = fused(q, r, 1.0);
  uint power = (floatBitsToUint(shifted) << 23) + 0x3f800000u;
  precise float y = q * uintBitsToFloat(power);
  return opaque(y);
}
