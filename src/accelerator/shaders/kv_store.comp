// kv_store of kernels/attention/attention.h (KvStoreCall), and store_latent of
// kernels/attention/latent.h (LatentStoreCall). The latter's rows are stored like keys, and its
// copies like heads. An invocation stores two elements of a key or a value; 16 invocations store a
// block of q8_0. A word of a page may also have bits of slots that other invocations store. So
// elements of narrow types are stored by writes of 8 or 16 bits.
#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 64) in;
layout(constant_id = 0) const uint kType = 0;
layout(constant_id = 1) const bool kLatent = false;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words { uint v[]; };
layout(buffer_reference, std430, buffer_reference_align = 2) buffer Halves { uint16_t v[]; };
layout(buffer_reference, std430, buffer_reference_align = 1) buffer Bytes { uint8_t v[]; };

// vulkan/dispatch_kv_store.cc has the same block.
layout(push_constant) uniform Push {
  Words k, v;
  Words slots;
  Words pages;
  uint k_stride, v_stride;
  uint page_bytes, head_bytes, key_bytes;  // from page to page, of a head, of its keys
  uint key_length, value_length;
  uint key_groups;  // workgroups of a row's head that store its key; others store its value
  uint zero;
} p;
#include "address.glsl"
#include "exact.glsl"
#include "kv_type.glsl"
#include "narrow.glsl"
#include "rounded.glsl"

const uint kPagePositions = 64, kNaN16 = 0x7e00u;
const uint kThreads = 16;  // of a block

shared uint magnitudes[gl_WorkGroupSize.x];

void put_half(Words words, uint i, uint bits) { Halves(uvec2(words)).v[i] = uint16_t(bits); }
void put_byte(Words words, uint i, uint bits) { Bytes(uvec2(words)).v[i] = uint8_t(bits); }

// Returns, as bits, the largest magnitude in the block to which the invocation's two elements
// belong.
uint largest_magnitude(const uvec2 bits) {
  const uint me = gl_LocalInvocationID.x, first = me / kThreads * kThreads;
  magnitudes[me] = max(bits.x & 0x7fffffffu, bits.y & 0x7fffffffu);
  barrier();
  uint largest = 0;
  for (uint t = 0; t < kThreads; ++t) largest = max(largest, magnitudes[first + t]);
  return largest;
}

uint code_of(uint bits, float scale) {
  const int steps = int(roundEven(opaque(quotient(uintBitsToFloat(bits), scale))));
  return uint(clamp(steps, -127, 127)) & 0xffu;
}

// The target of two elements: a half of a page, the length of a key or a value, the slot, and the
// index of the first element.
struct Target {
  Words words;
  bool across;  // true: positions of an element are neighbours; false: elements of a position
  uint elements, slot, d;
};

// Returns the index of the scale. In latents the scales of a position are neighbours, elsewhere
// those of a block.
uint scale_index(Target to) {
  const uint blocks = (to.elements + 31) / 32, block = to.d / 32;
  const uint at = kLatent ? to.slot * blocks + block : block * kPagePositions + to.slot;
  return scales_at(to.elements) + at;
}

void store_codes(Target to, uvec2 bits) {
  const uint amax = largest_magnitude(bits);
  if (to.d >= padded_length(to.elements)) return;
  const bool finite = amax < kInfinity;
  const float exact_scale = quotient(uintBitsToFloat(finite ? amax : 0u), 127.0);
  const uint scale = finite ? f16_of(floatBitsToUint(exact_scale)) : kNaN16;
  uvec2 codes = uvec2(0);
  if (finite && scale != 0) {
    codes = uvec2(code_of(bits.x, f16_value(scale)), code_of(bits.y, f16_value(scale)));
  }
  if (to.across) {
    put_half(to.words, to.d / 2 * kPagePositions + to.slot, codes.x | codes.y << 8);
  } else if (kLatent) {
    put_half(to.words, (to.slot * padded_length(to.elements) + to.d) / 2, codes.x | codes.y << 8);
  } else {
    const uint at = (to.slot / 2 * padded_length(to.elements) + to.d) * 2 + to.slot % 2;
    put_byte(to.words, at, codes.x);
    put_byte(to.words, at + 2, codes.y);
  }
  if (to.d % 32 == 0) {
    put_half(to.words, scale_index(to), scale);
  }
}

void store_floats(Target to, uvec2 bits) {
  const uint padded = padded_length(to.elements), step = to.across ? kPagePositions : 1;
  if (to.d >= padded) return;
  const uint at = to.across ? to.d * kPagePositions + to.slot : to.slot * padded + to.d;
  if (kType == kF32) {
    to.words.v[at] = bits.x;
    to.words.v[at + step] = bits.y;
    return;
  }
  uvec2 halves = uvec2(f16_of(bits.x), f16_of(bits.y));
  if (kType == kBF16) halves = uvec2(bf16_of(bits.x), bf16_of(bits.y));
  if (to.across) {
    put_half(to.words, at, halves.x);
    put_half(to.words, at + step, halves.y);
  } else {
    to.words.v[at / 2] = halves.x | halves.y << 16;
  }
}

void main() {
  const uint head = gl_WorkGroupID.y, row = gl_WorkGroupID.z, slot = p.slots.v[row];
  const bool key = gl_WorkGroupID.x < p.key_groups;
  const uint group = key ? gl_WorkGroupID.x : gl_WorkGroupID.x - p.key_groups;
  const uint d = 2 * (gl_WorkGroupSize.x * group + gl_LocalInvocationID.x);
  const uint length = key ? p.key_length : p.value_length;
  const uint at = row * (key ? p.k_stride : p.v_stride) + (kLatent ? 0 : head * length) + d;
  uvec2 bits = uvec2(0);
  for (uint i = 0; i < 2; ++i) {
    if (d + i < length) bits[i] = key ? p.k.v[at + i] : p.v.v[at + i];
  }
  const uvec2 page = far(uvec2(p.pages), slot / kPagePositions, p.page_bytes);
  const uvec2 keys = far(page, head, p.head_bytes);
  Target to = Target(Words(key ? keys : forward(keys, p.key_bytes)), key && !kLatent, length,
                           slot % kPagePositions, d);
  if (kType == kQ8_0) {
    store_codes(to, bits);
  } else {
    store_floats(to, bits);
  }
}
