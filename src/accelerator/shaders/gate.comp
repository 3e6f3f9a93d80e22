// The activations of kernels/activation/activation.h: an invocation takes an element.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_buffer_reference : require

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint kKind = 0;  // GateKind
layout(constant_id = 1) const bool kBias = false;
layout(constant_id = 2) const bool kUp = false;
layout(constant_id = 3) const bool kPlaced = false;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Floats { float v[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words { uint v[]; };
layout(push_constant) uniform Push {
  Floats x, bias, up, result;
  Words first;  // PlacedRows::first, from expert0's on
  uint x_stride, up_stride, result_stride, n;
  uint zero;
  uint experts, row0;
} p;

#include "exact.glsl"
#include "rounded.glsl"
#include "sigmoid.glsl"

const uint kSilu = 0, kGelu = 1;
const uint kSign = 0x80000000u;

// Returns -|x|.
float negative(float x) { return uintBitsToFloat(floatBitsToUint(x) | kSign); }

// Returns g sigmoid(t).
float times_sigmoid(float g, float t) {
  const float floored = below(g, 0xc2b00000u) ? uintBitsToFloat(0xc2b00000u) : g;
  precise float y = floored * sigmoid(t);
  return y;
}

// The coefficients of kernels/activation/gelu.h by descending power.
const uint kCoefficients[11] = {0xb2916e1bu, 0xb50948b9u, 0xb6df0b0du, 0xb845bb3bu,
                                0xb9353f45u, 0x383c26cdu, 0x3b9f9c54u, 0x3d150abau,
                                0xbea2f79fu, 0x3f4c4242u, 0xbf317218u};
const uint kGeluFloor = 0xc0b00000u;  // -5.5

float gelu(float g) {
  const float n = negative(g);
  const bool beyond = below(n, kGeluFloor);
  const float floored = beyond ? uintBitsToFloat(kGeluFloor) : n;
  float q = uintBitsToFloat(kCoefficients[0]);
  for (uint k = 1; k < 11; ++k) q = fused(q, floored, uintBitsToFloat(kCoefficients[k]));
  const float tail = beyond ? 0.0 : exp_nonpositive(q);
  return fused(floored, tail, below(g, kSign) ? 0.0 : g);
}

float gelu_tanh(float g) {
  precise float square = g * g;
  const float slope = fused(uintBitsToFloat(0x3d922279u), square, uintBitsToFloat(0x3fcc422au));
  precise float t = g * slope;
  return times_sigmoid(g, t);
}

void main() {
  const uint i = gl_GlobalInvocationID.x, row = gl_WorkGroupID.y;
  if (i >= p.n) return;
  if (kPlaced && p.row0 + row >= p.first.v[p.experts] - p.first.v[0]) return;
  precise float g = p.x.v[row * p.x_stride + i];
  if (kBias) g = g + p.bias.v[i];
  precise float y;
  if (kKind == kSilu) {
    y = times_sigmoid(g, g);
  } else if (kKind == kGelu) {
    y = gelu(g);
  } else {
    y = gelu_tanh(g);
  }
  if (kUp) y = y * p.up.v[row * p.up_stride + i];
  p.result.v[row * p.result_stride + i] = y;
}
