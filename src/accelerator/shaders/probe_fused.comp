#version 450
// Runs fused() on given floats, once by itself and once on a result of fused(), and
// exp_nonpositive().
#extension GL_EXT_buffer_reference : require
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 64) in;
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer In { float v[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) writeonly buffer Out { float v[]; };
layout(push_constant) uniform P {
  In x;
  Out y;
  uint count;
  uint zero;
} p;

#include "exact.glsl"

void main() {
  const uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const float a = p.x.v[4 * i], b = p.x.v[4 * i + 1], c = p.x.v[4 * i + 2];
  const float first = fused(a, b, c);
  p.y.v[3 * i] = first;
  p.y.v[3 * i + 1] = fused(first, b, a);
  p.y.v[3 * i + 2] = exp_nonpositive(p.x.v[4 * i + 3]);
}
