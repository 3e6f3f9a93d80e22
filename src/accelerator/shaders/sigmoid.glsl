// The sigmoid of kernels/simd/sigmoid.h. Include it after exact.glsl and rounded.glsl.
float sigmoid(float t) {
  const float e = exp_nonpositive(uintBitsToFloat(floatBitsToUint(t) | 0x80000000u));  // of -|t|
  precise float sum = 1.0 + e;
  return quotient(below(t, 0x80000000u) ? e : 1.0, sum);
}
