// Reads the scales of a panel, which begin at byte `base` of p.scales.

#include "narrow.glsl"

uint byte_at(uint at) { return p.scales.v[at / 4] >> 8 * (at % 4) & 0xffu; }
uint half_at(uint at) { return p.scales.v[at / 4] >> 8 * (at & 2u) & 0xffffu; }
float signed_byte_at(uint at) { return float(int(byte_at(at) << 24) >> 24); }

float f16_at(uint at, uint i) { return f16_value(half_at(at + 2 * i)); }
float f32_at(uint at, uint i) { return uintBitsToFloat(p.scales.v[at / 4 + i]); }

// Returns the super-block or group of block b.
uint super_of(uint b) { return (b + p.super_offset) >> p.group_shift; }

// The scales of the two halves of a block, with their minima in `least`. In a block with a single
// dot product, both halves have the same scale and minimum.
struct Scales {
  float scale[2], least[2];
};

float times(float a, float b) {
  precise float product = a * b;
  return opaque(product);
}

float group_scale(uint at, uint lane) {
  if (kScaleForm == kFormBF16) return uintBitsToFloat(half_at(at + 2 * lane) << 16);
  if (kScaleForm == kFormF32) return f32_at(at, lane);
  if (kScaleForm == kFormE8M0) return e8m0_value(byte_at(at + lane));
  return f16_at(at, lane);
}

float group_min(float scale, uint at, uint lane) {
  if (kMinForm == kZeroPoint) return -times(scale, float(byte_at(at + lane)));
  if (kMinForm == kSignedZeroPoint) return -times(scale, signed_byte_at(at + lane));
  return f16_at(at, lane);
}

Scales read_group(uint base, uint lane, uint b) {
  const uint group = base + kSuperBytes * super_of(b);
  const uint number_bytes = kScaleForm == kFormE8M0 ? 1 : kScaleForm == kFormF32 ? 4 : 2;
  Scales s;
  s.scale[0] = times(group_scale(group, lane), kFactor);
  s.least[0] = kMinima ? group_min(s.scale[0], group + 16 * number_bytes, lane) : 0.0;
  s.scale[1] = s.scale[0];
  s.least[1] = s.least[0];
  return s;
}

Scales read_scales(uint base, uint lane, uint b) {
  if (kScales == kGroups) return read_group(base, lane, b);
  const uint above = base + kSuperBytes * super_of(b);
  const uint own = base + p.block_scales + kBlockBytes * b;
  const float d = times(kScales == kLaneE4M3 ? f32_at(base, lane) : f16_at(above, lane), kFactor);
  const float dmin = kScales == kPairs || kScales == kNibbles ? f16_at(above + 32, lane) : 0.0;
  Scales s;
  UNROLL for (uint h = 0; h < 2; ++h) {
    const uint at = own + 16 * (h % kParts) + lane;
    s.least[h] = 0.0;
    if (kScales == kSupers) {
      s.scale[h] = times(d, signed_byte_at(at));
    } else if (kScales == kShifted) {
      const float sc = signed_byte_at(at);
      s.scale[h] = times(d, abs(sc));
      s.least[h] = times(times(d, sc), 0.125);
    } else if (kScales == kPairs) {
      s.scale[h] = times(d, float(byte_at(own + lane)));
      s.least[h] = -times(dmin, float(byte_at(own + 16 + lane)));
    } else if (kScales == kNibbles) {
      s.scale[h] = times(d, float(byte_at(at) & 15u));
      s.least[h] = -times(dmin, float(byte_at(at) >> 4));
    } else {
      s.scale[h] = times(d, e4m3_value(byte_at(at)));
    }
  }
  return s;
}

// Returns the FP8 scale of block b's super-block for a lane; NaN if the lane has a NaN in that
// super-block.
float fp8_scale(uint base, uint lane, uint b) {
  const uint at = base + kSuperBytes * super_of(b);
  if (kWeights == kFP8R) return f32_at(at, lane);
  const bool nan = (p.scales.v[at / 4 + 1] >> lane & 1u) != 0;
  return nan ? uintBitsToFloat(0x7fc00000u) : f32_at(at, 0);
}
