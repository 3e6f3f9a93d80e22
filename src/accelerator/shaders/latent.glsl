// Reads pages of latents in the layout of kernels/attention/latent.h. Include it after exact.glsl,
// kv_type.glsl and narrow.glsl, with Words and kType.

uint half_of(Words words, uint i) { return words.v[i / 2] >> 16 * (i % 2) & 0xffffu; }

// Returns element d of the position in a slot; a position has `elements` elements.
float latent_at(Words page, uint elements, uint slot, uint d) {
  const uint at = slot * padded_length(elements) + d;
  if (kType == kF32) return uintBitsToFloat(page.v[at]);
  if (kType == kQ8_0) {
    const int code = int(page.v[at / 4] << (24 - 8 * (at % 4))) >> 24;
    const uint block = slot * ((elements + 31) / 32) + d / 32;
    precise float x = float(code) * f16_value(half_of(page, scales_at(elements) + block));
    return opaque(x);
  }
  const uint bits = half_of(page, at);
  return kType == kF16 ? f16_value(bits) : uintBitsToFloat(bits << 16);
}
