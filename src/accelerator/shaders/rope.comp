// The rotation of kernels/rope/rope.h: an invocation rotates a pair.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_buffer_reference : require

layout(local_size_x = 64) in;
layout(constant_id = 0) const bool kInterleaved = false;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Floats { float v[]; };
layout(push_constant) uniform Push {
  Floats x, cosines, sines;
  uint x_stride, head_stride;
  uint pairs;        // of a head
  uint first, last;  // the dispatch takes the row's pairs [first, last)
  uint zero;
} p;

#include "exact.glsl"

void main() {
  const uint pair = p.first + gl_GlobalInvocationID.x, row = gl_WorkGroupID.y;
  if (pair >= p.last) return;
  const uint i = pair % p.pairs;
  const uint head = row * p.x_stride + pair / p.pairs * p.head_stride;
  const uint at0 = head + (kInterleaved ? 2 * i : i);
  const uint at1 = at0 + (kInterleaved ? 1 : p.pairs);
  const float x0 = p.x.v[at0], x1 = p.x.v[at1];
  const float c = p.cosines.v[row * p.pairs + i], s = p.sines.v[row * p.pairs + i];
  precise float across0 = x1 * s, across1 = x1 * c;
  p.x.v[at0] = fused(x0, c, -across0);
  p.x.v[at1] = fused(x0, s, across1);
}
