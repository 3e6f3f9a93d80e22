// Adds weighted rows of experts onto sums: ExpertAddCall of kernel_calls.h. An invocation takes an
// element of a row's sum.
#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 256) in;
layout(constant_id = 0) const bool kBegins = false;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Floats { float v[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words { uint v[]; };

// vulkan/dispatch_routing.cc has the same block. The addresses of choices, weights, places and sums
// are those of the dispatch's first row.
layout(push_constant) uniform Push {
  Floats x;
  Words chosen;
  Floats weights;
  Words place, first;  // first: begins at expert0's
  Floats result;
  uint x_stride, result_stride, n, used;
  uint expert0, experts;
  uint zero;
} p;
#include "exact.glsl"

void main() {
  const uint d = gl_GlobalInvocationID.x, row = gl_WorkGroupID.y;
  if (d >= p.n) return;
  // Most rows chose none of the batch's experts. Their sums are neither read nor written.
  bool any = kBegins;
  for (uint i = row * p.used; i < (row + 1) * p.used; ++i) {
    any = any || p.chosen.v[i] - p.expert0 < p.experts;
  }
  if (!any) return;
  const uint first = p.first.v[0], to = row * p.result_stride + d;
  float sum = kBegins ? uintBitsToFloat(0x80000000u) : p.result.v[to];
  for (uint i = row * p.used; i < (row + 1) * p.used; ++i) {
    if (p.chosen.v[i] - p.expert0 >= p.experts) continue;
    sum = fused(p.weights.v[i], p.x.v[(p.place.v[i] - first) * p.x_stride + d], sum);
  }
  p.result.v[to] = sum;
}
