// Makes keys and values of heads from latents (kernels/attention/latent.h): LatentExpandCall of
// kernel_calls.h. A workgroup makes 16 elements of a head's key or value, for all positions of a
// page. An invocation takes one position.
#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 64) in;
layout(constant_id = 0) const uint kType = 0;

layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Floats { float v[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) writeonly buffer Out { float v[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Words { uint v[]; };

// vulkan/dispatch_latent.cc has the same block.
layout(push_constant) uniform Push {
  Words from;
  Floats key, value;  // the heads' matrices
  Out to;
  uint key_stride, value_stride;
  uint from_bytes, to_bytes;   // from page to page
  uint head_bytes, key_bytes;  // of a head of `to`, of its keys
  uint page0, head0;           // of the first workgroup
  uint positions;
  uint kv_lora_rank, rope_length, nope_length, value_length;
  uint zero;
} p;
#include "address.glsl"
#include "exact.glsl"
#include "kv_type.glsl"
#include "narrow.glsl"
#include "latent.glsl"

const uint kPagePositions = 64, kTile = 16;

shared float matrix[kTile][kTile];  // by element of the latent, then of the result

// Loads the part of the head's matrix that multiplies elements [i0, i0 + 16) of the latent for
// elements [d0, d0 + 16) of the key or value. Beyond the end of either, it loads zeros.
void load_matrix(bool key, uint head, uint i0, uint d0) {
  for (uint n = gl_LocalInvocationID.x; n < kTile * kTile; n += 64) {
    const uint across = n / kTile, along = n % kTile;  // column and row of the matrix
    const uint i = key ? across : along, d = key ? along : across;
    const bool there = i0 + i < p.kv_lora_rank &&
                       d0 + d < (key ? p.nope_length : p.value_length);
    float x = 0.0;
    if (there && key) {
      x = p.key.v[(head * p.kv_lora_rank + i0 + i) * p.key_stride + d0 + d];
    } else if (there) {
      x = p.value.v[(head * p.value_length + d0 + d) * p.value_stride + i0 + i];
    }
    matrix[i][d] = x;
  }
}

void main() {
  const uint slot = gl_LocalInvocationID.x;
  const uint page = p.page0 + gl_WorkGroupID.z, head = p.head0 + gl_WorkGroupID.y;
  const uint key_length = p.nope_length + p.rope_length;
  const uint key_tiles = padded_length(key_length) / kTile;
  const bool key = gl_WorkGroupID.x < key_tiles;
  const uint d0 = kTile * (key ? gl_WorkGroupID.x : gl_WorkGroupID.x - key_tiles);
  const uint made = key ? p.nope_length : p.value_length;  // elements made by products
  const uint cached = p.kv_lora_rank + p.rope_length;
  Words latents = Words(far(uvec2(p.from), page, p.from_bytes));

  float sums[kTile];
  for (uint n = 0; n < kTile; ++n) sums[n] = 0.0;
  // The latent's padding is multiplied too: with zeros, as on the cores.
  const uint end = d0 < made ? padded_length(p.kv_lora_rank) : 0;
  for (uint i0 = 0; i0 < end; i0 += kTile) {
    load_matrix(key, head, i0, d0);
    barrier();
    for (uint i = 0; i < kTile; ++i) {
      const float x = i0 + i < cached ? latent_at(latents, cached, slot, i0 + i) : 0.0;
      for (uint n = 0; n < kTile; ++n) sums[n] = fused(matrix[i][n], x, sums[n]);
    }
    barrier();
  }

  if (page * kPagePositions + slot >= p.positions) return;
  const uvec2 keys = far(far(uvec2(p.to), page, p.to_bytes), head, p.head_bytes);
  Out result = Out(key ? keys : forward(keys, p.key_bytes));
  for (uint n = 0; n < kTile; ++n) {
    const uint d = d0 + n;
    float x = sums[n];
    if (d >= made) {
      x = 0.0;
      if (key && d < key_length) x = latent_at(latents, cached, slot, p.kv_lora_rank + d - made);
    }
    result.v[key ? d * kPagePositions + slot : slot * padded_length(p.value_length) + d] = x;
  }
}
