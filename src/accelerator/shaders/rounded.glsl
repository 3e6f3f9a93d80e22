// Division and square root, computed with integers and rounded as IEEE 754 says. Vulkan allows `/`
// and sqrt() an error of two or three units in the last place, and drivers of real cards have such
// errors.
//
// Each function finds 26 bits of its result, one bit at a time, and whether there is a remainder.

// A float without its sign: mantissa * 2^(exponent - 23), where bit 23 of the mantissa is set.
struct Parts {
  uint mantissa;
  int exponent;
};

// Takes apart a number that is neither 0 nor infinite nor NaN.
Parts parts_of(uint magnitude) {
  if (magnitude >= 0x800000u) {
    return Parts(magnitude & 0x7fffffu | 0x800000u, int(magnitude >> 23) - 127);
  }
  const int shift = 23 - findMSB(magnitude);
  return Parts(magnitude << shift, -126 - shift);
}

// Returns the float nearest to bits * 2^(exponent - 25). Bit 25 of `bits` is set. `left`: the exact
// number is a little larger, by less than one of these bits.
float rounded(uint sign, uint bits, int exponent, bool left) {
  const int biased = exponent + 127;
  if (biased >= 255) return uintBitsToFloat(sign | 0x7f800000u);
  const uint drop = biased > 0 ? 2u : uint(min(3 - biased, 28));
  const uint low = bits & ((1u << drop) - 1u), middle = 1u << (drop - 1u);
  uint kept = bits >> drop;
  if (low > middle || (low == middle && (left || (kept & 1u) != 0u))) ++kept;
  // Bit 23 of `kept` itself adds one to the exponent, so one less is added here. A carry adds one
  // as it should.
  if (biased > 0) kept += uint(biased - 1) << 23;
  return uintBitsToFloat(sign | kept);
}

float quotient(float a, float b) {
  const uint x = floatBitsToUint(a), y = floatBitsToUint(b);
  const uint sign = (x ^ y) & 0x80000000u, m = x & 0x7fffffffu, n = y & 0x7fffffffu;
  const uint infinity = 0x7f800000u;
  const bool none = m > infinity || n > infinity || (m == n && (m == 0u || m == infinity));
  if (none) return uintBitsToFloat(0x7fc00000u);
  if (m == infinity || n == 0u) return uintBitsToFloat(sign | infinity);
  if (m == 0u || n == infinity) return uintBitsToFloat(sign);
  const Parts above = parts_of(m), below = parts_of(n);
  int exponent = above.exponent - below.exponent;
  uint rest = above.mantissa, bits = 0u;
  if (rest < below.mantissa) {
    rest <<= 1;
    --exponent;
  }
  for (uint i = 0u; i < 26u; ++i) {
    const bool one = rest >= below.mantissa;
    rest = (one ? rest - below.mantissa : rest) << 1;
    bits = bits << 1 | uint(one);
  }
  return rounded(sign, bits, exponent, rest != 0u);
}

float root(float a) {
  const uint x = floatBitsToUint(a);
  if ((x & 0x7fffffffu) == 0u || x == 0x7f800000u) return a;
  if (x > 0x7f800000u) return uintBitsToFloat(0x7fc00000u);
  Parts of = parts_of(x);
  if ((of.exponent & 1) != 0) {
    of.mantissa <<= 1;
    --of.exponent;
  }
  uint rest = 0u, bits = 0u;
  for (int shift = 23; shift > -29; shift -= 2) {
    const uint pair = shift >= 0 ? of.mantissa >> shift : shift == -1 ? of.mantissa << 1 : 0u;
    rest = rest << 2 | pair & 3u;
    const uint next = bits << 2 | 1u;
    const bool one = rest >= next;
    if (one) rest -= next;
    bits = bits << 1 | uint(one);
  }
  return rounded(0u, bits, of.exponent / 2, rest != 0u);
}
