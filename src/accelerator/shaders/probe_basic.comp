#version 450
// Runs, on given words, the operations that the shaders expect to follow IEEE 754.
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_spirv_intrinsics : require
#extension GL_GOOGLE_include_directive : require

#include "rounded.glsl"

// OpSDot of four signed bytes in a word (SPIR-V 1.6).
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6019, 6018],
                  id = 4450)
int signed_dot(int a, int b, spirv_literal int packed);

layout(local_size_x = 64) in;
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer In { uint v[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) writeonly buffer Out { uint v[]; };
layout(push_constant) uniform P {
  In x;
  Out y;
  uint count;
  uint zero;
} p;

void main() {
  const uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint x = p.x.v[2 * i], y = p.x.v[2 * i + 1];
  const float a = uintBitsToFloat(x), b = uintBitsToFloat(y);
  precise float product = a * b;
  precise float sum = a + b;
  precise float product_sum = product + b;
  const uint at = 8 * i;
  p.y.v[at] = floatBitsToUint(product);
  p.y.v[at + 1] = floatBitsToUint(sum);
  p.y.v[at + 2] = floatBitsToUint(product_sum);
  p.y.v[at + 3] = floatBitsToUint(roundEven(a));
  p.y.v[at + 4] = floatBitsToUint(float(int(x)));
  p.y.v[at + 5] = floatBitsToUint(quotient(a, b));
  p.y.v[at + 6] = floatBitsToUint(root(a));
  p.y.v[at + 7] = uint(signed_dot(int(x), int(y), 0));
}
