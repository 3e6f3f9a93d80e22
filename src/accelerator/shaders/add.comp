// The sums of kernels/sum/sum.h: an invocation takes an element.
#version 460
#extension GL_EXT_buffer_reference : require

layout(local_size_x = 256) in;
layout(constant_id = 0) const bool kThree = false;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Floats { float v[]; };
layout(push_constant) uniform Push {
  Floats a, b, c, result;
  uint a_stride, b_stride, c_stride, result_stride, n;
} p;

void main() {
  const uint i = gl_GlobalInvocationID.x, row = gl_WorkGroupID.y;
  if (i >= p.n) return;
  precise float sum = p.b.v[row * p.b_stride + i];
  if (kThree) sum = sum + p.c.v[row * p.c_stride + i];
  sum = p.a.v[row * p.a_stride + i] + sum;
  p.result.v[row * p.result_stride + i] = sum;
}
