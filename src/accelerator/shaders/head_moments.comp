// head_moments of kernels/norm/norm.h: a workgroup takes four heads of a row, with 16 invocations
// each. Each invocation adds up one chain.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_buffer_reference : require

layout(local_size_x = 16, local_size_y = 4) in;
layout(constant_id = 0) const bool kCentred = true;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Floats { float v[]; };
layout(push_constant) uniform Push {
  Floats x, result;
  uint x_stride, result_stride, heads;
  uint head_floats;  // floats of each head
  float count;       // the same number as a float
  uint zero;
} p;

#include "exact.glsl"
#include "rounded.glsl"
#include "norm.glsl"

shared float chains[64];

// Returns the sum of all chains of the head that this invocation works on.
float sum_of_head(float chain) {
  const uint first = 16 * gl_LocalInvocationID.y;
  barrier();  // all have read the previous sum
  chains[first + gl_LocalInvocationID.x] = chain;
  barrier();
  float own[16];
  for (uint l = 0; l < 16; ++l) own[l] = chains[first + l];
  return sum_by_halves(own);
}

void main() {
  const uint head = 4 * gl_WorkGroupID.x + gl_LocalInvocationID.y, row = gl_WorkGroupID.y;
  // An invocation beyond the last head computes the last head again.
  const uint at = row * p.x_stride + min(head, p.heads - 1) * p.head_floats;
  float mean = 0.0;
  if (kCentred) {
    precise float sum = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < p.head_floats; i += 16) sum = sum + p.x.v[at + i];
    mean = quotient(sum_of_head(sum), p.count);
  }
  float squares = 0.0;
  for (uint i = gl_LocalInvocationID.x; i < p.head_floats; i += 16) {
    precise float d = p.x.v[at + i];
    if (kCentred) d = d - mean;
    squares = fused(d, d, squares);
  }
  squares = sum_of_head(squares);
  if (gl_LocalInvocationID.x != 0 || head >= p.heads) return;
  const uint to = row * p.result_stride + 2 * head;
  p.result.v[to] = mean;
  p.result.v[to + 1] = squares;
}
