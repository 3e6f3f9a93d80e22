// Reads weights of a lane from p.codes. `at` is an index in words.

#include "address.glsl"

// OpSDot of SPV_KHR_integer_dot_product, which is part of Vulkan 1.3, over four signed bytes each.
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6019, 6018],
                  id = 4450)
int dot4(int a, int b, spirv_literal int format);

Words words_at(uint at) { return Words(forward(uvec2(p.codes), 4 * at)); }

// Returns the index of the lane's word, in a plane of `bits` bits for each code, that has the four
// codes of group g.
uint plane_word(uint bits, uint g) {
  if (bits == 8) return g;
  if (bits == 4) return g % 4;
  return bits == 2 ? g / 4 : 0;
}

// Returns the part of that word that belongs to the four codes of group g.
uint plane_bits(uint bits, uint word, uint g) {
  if (bits == 8) return word;
  if (bits == 4) return word >> 4 * (g / 4) & 0x0f0f0f0fu;
  if (bits == 2) return word >> 2 * (g % 4) & 0x03030303u;
  return word >> g & 0x01010101u;
}

// Returns bits of `b` where the mask has ones, and bits of `a` elsewhere.
uint pick(uint a, uint b, uint mask) { return a ^ ((a ^ b) & mask); }

// Returns a word whose bytes are 0xff where the same byte of `codes` has bit `i` set, and 0
// elsewhere.
uint mask_of(uint codes, uint i) { return (codes >> i & 0x01010101u) * 0xffu; }

// Returns for each byte one of a table's four entries, which the bytes of two masks choose.
uint pick_entries(uint entries, uint odd, uint high) {
  const uint ones = 0x01010101u;
  return pick(pick((entries & 0xffu) * ones, (entries >> 8 & 0xffu) * ones, odd),
              pick((entries >> 16 & 0xffu) * ones, (entries >> 24) * ones, odd), high);
}

uint table_values(uint codes) {
  const uint m0 = mask_of(codes, 0), m1 = mask_of(codes, 1), m2 = mask_of(codes, 2);
  const uint low = pick(pick_entries(kTable0, m0, m1), pick_entries(kTable1, m0, m1), m2);
  if (kLowBits + kHighBits == 3) return low;
  const uint high = pick(pick_entries(kTable2, m0, m1), pick_entries(kTable3, m0, m1), m2);
  return pick(low, high, mask_of(codes, 3));
}

// Returns the numbers that the four codes of a word stand for, as signed bytes.
uint values_of(uint codes) {
  if (kStep == 0) return table_values(codes);
  if (kLowBits == 8) return codes ^ 0x80808080u;
  if (kOffset == 0) return codes;
  // The highest bit of each byte is set, so that the subtraction in one byte does not borrow from
  // the next byte.
  return ((kStep * codes | 0x80808080u) - kOffset * 0x01010101u) ^ 0x80808080u;
}

// Reads the 32 values of a lane's block, four a word; `at` is the lane's first word.
void read_values(uint at, out int values[8]) {
  Words words = words_at(at);
  uint low[8], high[8];
  UNROLL for (uint i = 0; i < kLowBits; ++i) low[i] = words.v[16 * i];
  UNROLL for (uint i = 0; i < kHighBits; ++i) high[i] = words.v[16 * (kLowBits + i)];
  UNROLL for (uint g = 0; g < 8; ++g) {
    uint codes = plane_bits(kLowBits, low[plane_word(kLowBits, g)], g);
    if (kHighBits != 0) {
      codes |= plane_bits(kHighBits, high[plane_word(kHighBits, g)], g) << kLowBits;
    }
    values[g] = int(values_of(codes));
  }
}

// Returns only values 4 g to 4 g + 3 of a lane's block, as signed bytes.
uint four_values(uint at, uint g) {
  Words words = words_at(at);
  uint codes = plane_bits(kLowBits, words.v[16 * plane_word(kLowBits, g)], g);
  if (kHighBits != 0) {
    const uint word = words.v[16 * (kLowBits + plane_word(kHighBits, g))];
    codes |= plane_bits(kHighBits, word, g) << kLowBits;
  }
  return values_of(codes);
}

// Returns elements 4 g to 4 g + 3 of a lane's block, which begins at word `at`; for FP8 without the
// scale.
vec4 four_weights(uint at, uint lane, uint g) {
  if (kWeights == kF32) {
    Words w = words_at(at + 64 * g + lane);
    return uintBitsToFloat(uvec4(w.v[0], w.v[16], w.v[32], w.v[48]));
  }
  if (kWeights == kF16) {
    Words w = words_at(at + 32 * g + lane / 2);
    const uvec4 halves = uvec4(w.v[0], w.v[8], w.v[16], w.v[24]) >> 16 * (lane % 2) & 0xffffu;
    return vec4(f16_value(halves.x), f16_value(halves.y), f16_value(halves.z),
                f16_value(halves.w));
  }
  if (kWeights == kBF16) {
    Words w = words_at(at + 32 * g + lane);
    return uintBitsToFloat(
        uvec4(w.v[0] << 16, w.v[0] & 0xffff0000u, w.v[16] << 16, w.v[16] & 0xffff0000u));
  }
  // The layout is that of fp8_code_at() (tensor/pack_spec.h).
  Words w = words_at(at + 16 * g + 4 * (lane / 4) + lane % 4 / 2);
  const uvec2 codes = uvec2(w.v[0], w.v[2]) >> 16 * (lane % 2);
  return vec4(e4m3_value(codes.x & 0xffu), e4m3_value(codes.x >> 8 & 0xffu),
              e4m3_value(codes.y & 0xffu), e4m3_value(codes.y >> 8 & 0xffu));
}
