// A CodeBlock holds 32 consecutive elements of a quantised row in a form that fits every block
// type: 8-bit codes with a scale and a minimum per half of 16. Nothing is lost: scales and minima
// are products of a binary16 and an integer of at most 6 bits (7 and a sign in Q6_K), which
// binary32 holds exactly, and so is scale * code; only the sum with the minimum rounds.
//
// The file's layouts are those of the GGUF/ggml specification (block_q4_0 ... block_q6_K,
// block_iq4_nl, block_mxfp4).
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"
#include "tensor/pack_spec.h"

namespace hearth {

// Element j is scale[j / 16] * (codes[j] - 128) + min[j / 16].
struct CodeBlock {
  uint8_t codes[kBlock];
  float scale[2];
  float min[2];
};

// Holds the scale and the minimum of block `part` of a Q4_K or Q5_K super-block, from its 12 bytes
// of 6-bit numbers.
struct ScaleMin6 {
  uint8_t scale, min;
};
inline ScaleMin6 scale_min_6(const std::byte* packed, uint32_t part) {
  auto byte = [&](uint32_t i) { return std::to_integer<uint32_t>(packed[i]); };
  if (part < 4) {
    return {static_cast<uint8_t>(byte(part) & 63), static_cast<uint8_t>(byte(part + 4) & 63)};
  }
  return {static_cast<uint8_t>((byte(part + 4) & 15) | (byte(part - 4) >> 6 << 4)),
          static_cast<uint8_t>((byte(part + 4) >> 4) | (byte(part) >> 6 << 4))};
}

// Decodes elements [32 part, 32 part + 32) of the block of a quantised type at `block`.
CodeBlock decode_block(DType dtype, const std::byte* block, uint32_t part);

// Writes the elements to out[32].
void code_block_values(const CodeBlock& block, float* out);

}  // namespace hearth
