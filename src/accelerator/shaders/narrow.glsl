// The conversions of base/fp_types.h, computed on bits, since a driver's own conversions may make
// subnormal numbers 0.

float f16_value(uint h) {
  const uint sign = (h & 0x8000u) << 16, magnitude = h & 0x7fffu;
  uint bits = (magnitude << 13) + (112u << 23);
  if (magnitude >= 0x7c00u) bits = (magnitude << 13) | 0x7f800000u;
  if (magnitude < 0x400u) bits = floatBitsToUint(float(magnitude) * 5.9604644775390625e-8);
  return uintBitsToFloat(sign | bits);
}

float e4m3_value(uint code) {
  const uint sign = (code & 0x80u) << 24, magnitude = code & 0x7fu;
  uint bits = (magnitude << 20) + (120u << 23);
  if (magnitude == 0x7fu) bits = 0x7fc00000u;
  if (magnitude < 8u) bits = floatBitsToUint(float(magnitude) * 0.001953125);
  return uintBitsToFloat(sign | bits);
}

float e8m0_value(uint code) { return uintBitsToFloat(code == 0 ? 0x00400000u : code << 23); }

uint bf16_of(uint bits) {
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (bits >> 16) | 0x40u;
  return (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
}

uint f16_of(uint bits) {
  const uint sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7e00u;
  if (magnitude >= 0x477ff000u) return sign | 0x7c00u;
  if (magnitude < 0x38800000u) {
    // Adding 0.5 rounds to a multiple of 2^-24, the step of subnormal numbers.
    precise float shifted = uintBitsToFloat(magnitude) + 0.5;
    return sign | floatBitsToUint(shifted) - 0x3f000000u;
  }
  const uint rounded_up = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return sign | rounded_up - 0x38000000u >> 13;
}
