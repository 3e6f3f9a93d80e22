// The sums and the scale of kernels/norm/norm.h. Include it after exact.glsl and rounded.glsl.

float sum_by_halves(float chains[16]) {
  precise float lanes[16];
  for (uint l = 0; l < 16; ++l) lanes[l] = chains[l];
  for (uint l = 0; l < 8; ++l) lanes[l] = lanes[l] + lanes[l + 8];
  for (uint l = 0; l < 4; ++l) lanes[l] = lanes[l] + lanes[l + 4];
  for (uint l = 0; l < 2; ++l) lanes[l] = lanes[l] + lanes[l + 2];
  precise float sum = lanes[0] + lanes[1];
  return opaque(sum);
}

// Returns 1 / sqrt(squares / count + eps), or a NaN in place of a result that is not a number above
// 0.
float row_scale(float squares, float count, float eps) {
  precise float sum = quotient(squares, count) + eps;
  const uint bits = floatBitsToUint(quotient(1.0, root(sum)));
  return uintBitsToFloat(bits - 1u < 0x7f800000u ? bits : 0x7fc00000u);
}
