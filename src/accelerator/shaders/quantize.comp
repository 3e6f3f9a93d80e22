// The formats of kernels/quantize/quantize.h: an invocation makes a word of the row, which is one
// float, two bf16 or four codes. Eight words of codes make a block. Elements after the row's last
// count as 0.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_buffer_reference : require

layout(local_size_x = 64) in;
layout(constant_id = 0) const uint kFormat = 0;  // ActFormat
layout(constant_id = 1) const bool kPlaced = false;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words { uint v[]; };
layout(push_constant) uniform Push {
  Words x;
  Words result;  // floats, pairs of bf16 or codes
  Words scale, bias32, sum32, bias16, sum16;
  Words first;                   // PlacedRows::first, from expert0's on
  uint x_stride, row_stride, n;  // elements
  uint padded;                   // n, rounded up to whole blocks
  uint zero;
  uint experts, row0;
} p;

#include "exact.glsl"
#include "narrow.glsl"
#include "rounded.glsl"

const uint kF32 = 0, kBF16 = 1;
const uint kInfinity = 0x7f800000u, kNaN = 0x7fc00000u;
const uint kMinAmax = 0x04800000u;  // kQ8MinAmax
const uint kThreads = 8;          // of a block

shared uint magnitudes[gl_WorkGroupSize.x];
shared int sums[gl_WorkGroupSize.x];

uint element(uint i) { return i < p.n ? p.x.v[gl_WorkGroupID.y * p.x_stride + i] : 0u; }

int code_of(uint bits, float inverse) {
  precise float scaled = uintBitsToFloat(bits) * inverse;
  return int(roundEven(opaque(scaled)));
}

// Returns, as bits, the largest magnitude of the block; at least infinity where an element is not
// finite.
uint largest_magnitude(const uint bits[4]) {
  const uint me = gl_LocalInvocationID.x, first = me / kThreads * kThreads;
  uint largest = 0;
  for (uint j = 0; j < 4; ++j) largest = max(largest, bits[j] & 0x7fffffffu);
  magnitudes[me] = largest;
  barrier();
  for (uint t = 0; t < kThreads; ++t) largest = max(largest, magnitudes[first + t]);
  return largest;
}

// Stores a block's scale and sums; halves[h] is the sum of the codes of half h.
void store_block(uint block, const int halves[2], float scale, bool finite) {
  const int both = halves[0] + halves[1];
  precise float sum32 = scale * float(both);
  p.scale.v[block] = finite ? floatBitsToUint(scale) : kNaN;
  p.bias32.v[block] = uint(-128 * both);
  p.sum32.v[block] = finite ? floatBitsToUint(sum32) : kNaN;
  for (uint h = 0; h < 2; ++h) {
    precise float sum16 = scale * float(halves[h]);
    p.bias16.v[2 * block + h] = uint(-128 * halves[h]);
    p.sum16.v[2 * block + h] = finite ? floatBitsToUint(sum16) : kNaN;
  }
}

// Quantises a word to q8. All invocations of a workgroup call this, also those past the row's end.
void quantize_q8(uint word) {
  uint bits[4];
  for (uint j = 0; j < 4; ++j) bits[j] = element(4 * word + j);
  const uint amax = largest_magnitude(bits);
  const bool finite = amax < kInfinity;
  const bool flat_block = !finite || amax < kMinAmax;
  float inverse = 0.0, scale = 0.0;
  if (!flat_block) {
    inverse = quotient(127.0, uintBitsToFloat(amax));
    scale = quotient(uintBitsToFloat(amax), 127.0);
  }
  uint packed = 0;
  int sum = 0;
  for (uint j = 0; j < 4; ++j) {
    const int code = flat_block ? 0 : code_of(bits[j], inverse);
    packed |= (uint(code) & 0xffu) << (8 * j);
    sum += code;
  }
  const uint me = gl_LocalInvocationID.x;
  sums[me] = sum;
  barrier();
  if (4 * word >= p.padded) return;
  p.result.v[gl_WorkGroupID.y * (p.row_stride / 4) + word] = packed;
  if (me % kThreads != 0) return;
  int halves[2] = {0, 0};
  for (uint t = 0; t < kThreads; ++t) halves[t / 4] += sums[me + t];
  store_block(gl_WorkGroupID.y * (p.row_stride / 32) + word / kThreads, halves, scale, finite);
}

void main() {
  const uint word = gl_GlobalInvocationID.x;
  if (kPlaced && p.row0 + gl_WorkGroupID.y >= p.first.v[p.experts] - p.first.v[0]) return;
  if (kFormat == kF32) {
    if (word < p.padded) p.result.v[gl_WorkGroupID.y * p.row_stride + word] = element(word);
  } else if (kFormat == kBF16) {
    if (2 * word >= p.padded) return;
    const uint pair = bf16_of(element(2 * word)) | bf16_of(element(2 * word + 1)) << 16;
    p.result.v[gl_WorkGroupID.y * (p.row_stride / 2) + word] = pair;
  } else {
    quantize_q8(word);
  }
}
