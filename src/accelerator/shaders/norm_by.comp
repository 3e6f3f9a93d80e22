// norm_by of kernels/norm/norm.h with row_scale_of() of the moments of a row's heads. A workgroup
// takes a row, and each of its invocations computes the row's scale for itself.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_buffer_reference : require

layout(local_size_x = 128) in;
layout(constant_id = 0) const bool kBias = false;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Floats { float v[]; };
layout(push_constant) uniform Push {
  Floats x, moments, weight, bias, result;
  uint x_stride, moments_stride, result_stride, n, heads;
  float head_floats;  // floats of each head
  float head_count;   // heads
  float count;        // elements of all heads
  float eps;
  uint zero;
} p;

#include "exact.glsl"
#include "rounded.glsl"
#include "norm.glsl"

void main() {
  const uint row = gl_WorkGroupID.x * p.x_stride, to = gl_WorkGroupID.x * p.result_stride;
  const uint moments = gl_WorkGroupID.x * p.moments_stride;
  precise float sum = 0.0;
  for (uint h = 0; h < p.heads; ++h) sum = sum + p.moments.v[moments + 2 * h];
  const float mean = quotient(sum, p.head_count);
  precise float squares = 0.0;
  for (uint h = 0; h < p.heads; ++h) {
    precise float d = p.moments.v[moments + 2 * h] - mean;
    precise float spread = p.head_floats * d;
    precise float both = squares + p.moments.v[moments + 2 * h + 1];
    squares = fused(spread, d, both);
  }
  const float r = opaque(row_scale(squares, p.count, p.eps));
  for (uint i = gl_LocalInvocationID.x; i < p.n; i += gl_WorkGroupSize.x) {
    precise float d = p.x.v[row + i] - mean;
    precise float y = d * r;
    if (kBias) {
      y = fused(y, p.weight.v[i], p.bias.v[i]);
    } else {
      y = y * p.weight.v[i];
    }
    p.result.v[to + i] = y;
  }
}
