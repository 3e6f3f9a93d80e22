// The norms of kernels/norm/norm.h: a workgroup takes a row. All its invocations fetch elements,
// and 16 of them add the elements up, a chain each.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_buffer_reference : require

layout(local_size_x = 128) in;
layout(constant_id = 0) const bool kLayer = false;
layout(constant_id = 1) const bool kWeight = true;
layout(constant_id = 2) const bool kBias = false;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Floats { float v[]; };
layout(push_constant) uniform Push {
  Floats x, weight, bias, result;
  uint x_stride, result_stride, n;
  float count;  // n
  float eps;
  uint zero;
} p;

#include "exact.glsl"
#include "rounded.glsl"
#include "norm.glsl"

const uint kChunk = 2048;
shared float staged[kChunk];
shared float chains[16];

// Returns the sum of the row, or of the squares of its distances from the mean; for an RMS norm the
// mean counts as 0.
float sum_of_row(uint row, bool squares, float mean) {
  const uint first = gl_LocalInvocationID.x;
  precise float chain = 0.0;
  for (uint begin = 0; begin < p.n; begin += kChunk) {
    const uint here = min(kChunk, p.n - begin);
    barrier();  // all have added up the previous chunk
    for (uint i = first; i < here; i += gl_WorkGroupSize.x) {
      precise float d = p.x.v[row + begin + i];
      if (kLayer && squares) d = d - mean;
      staged[i] = d;
    }
    barrier();
    if (first < 16) {
      for (uint i = first; i < here; i += 16) {
        const float d = staged[i];
        if (squares) {
          chain = fused(d, d, chain);
        } else {
          chain = chain + d;
        }
      }
    }
  }
  if (first < 16) chains[first] = chain;
  barrier();
  float all[16];
  for (uint l = 0; l < 16; ++l) all[l] = chains[l];
  return sum_by_halves(all);
}

void main() {
  const uint row = gl_WorkGroupID.x * p.x_stride;
  const uint to = gl_WorkGroupID.x * p.result_stride;
  float mean = 0.0;
  if (kLayer) mean = quotient(sum_of_row(row, false, 0.0), p.count);
  const float r = opaque(row_scale(sum_of_row(row, true, mean), p.count, p.eps));
  for (uint i = gl_LocalInvocationID.x; i < p.n; i += gl_WorkGroupSize.x) {
    precise float d = p.x.v[row + i];
    if (kLayer) d = d - mean;
    precise float y = d * r;
    const float weight = kWeight ? p.weight.v[i] : 1.0;
    if (kBias) {
      y = fused(y, weight, p.bias.v[i]);
    } else {
      y = y * weight;
    }
    p.result.v[to + i] = y;
  }
}
