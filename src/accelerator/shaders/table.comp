// Looks up rows of an embedding table in panels of all kinds, read like unpack_row()
// (tensor/pack_spec.h). The constants of gemm_kind.glsl describe the kind. An invocation makes four
// elements.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_spirv_intrinsics : require

#include "gemm_kind.glsl"

#define UNROLL [[unroll]]

layout(local_size_x = 64) in;
layout(constant_id = 18) const bool kKeep = false;

layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Words { uint v[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) writeonly buffer Outs { float v[]; };

// vulkan/dispatch_table.cc has the same block.
layout(push_constant) uniform Push {
  Words codes, scales;
  Words rows_of;
  Outs o;
  uint codes_panel, scales_panel;  // bytes from panel to panel
  uint block_scales, super_offset, group_shift;
  uint row0, table_rows;  // the shard's
  uint out_stride, k;
  float scale;
  uint zero;
} push;

// The row's panel, in the form that the functions of products take.
struct Panel {
  Words codes, scales;
  uint block_scales, super_offset, group_shift;
  uint zero;
} p;

#include "exact.glsl"
#include "gemm_scales.glsl"
#include "gemm_values.glsl"

// Returns elements 4 g to 4 g + 3 of block b.
vec4 four_elements(uint b, uint lane, uint g) {
  const uint at = kCodeWords * b;
  vec4 values;
  if (kWeights == kInt8) {
    const uint four = four_values(at + lane, g);
    const Scales by = read_scales(0, lane, b);
    UNROLL for (uint i = 0; i < 4; ++i) {
      precise float x = times(by.scale[g / 4], float(int(four << 24 - 8 * i) >> 24));
      if (kMinima) {
        x = x + by.least[g / 4];
      } else if (floatBitsToUint(x) == 0x80000000u) {
        x = 0.0;  // plus 0, not minus 0
      }
      values[i] = x;
    }
    return values;
  }
  values = four_weights(at, lane, g);
  if (!kIsFp8) return values;
  const uint of_super = kSuperBytes * super_of(b);
  const float scale = f32_at(of_super, kWeights == kFP8R ? lane : 0);
  UNROLL for (uint i = 0; i < 4; ++i) values[i] = times(scale, values[i]);
  return values;
}

void main() {
  const uint first = 4 * gl_GlobalInvocationID.x, to = gl_WorkGroupID.y * push.out_stride + first;
  if (first >= push.k) return;
  const uint here = min(4, push.k - first);
  const uint row = push.rows_of.v[gl_WorkGroupID.y] - push.row0;
  if (row >= push.table_rows) {
    if (kKeep) return;
    for (uint i = 0; i < here; ++i) push.o.v[to + i] = 0.0;
    return;
  }
  p.codes = Words(far(uvec2(push.codes), row / 16, push.codes_panel));
  p.scales = Words(far(uvec2(push.scales), row / 16, push.scales_panel));
  p.block_scales = push.block_scales;
  p.super_offset = push.super_offset;
  p.group_shift = push.group_shift;
  p.zero = push.zero;
  const vec4 values = four_elements(first / 32, row % 16, first / 4 % 8);
  for (uint i = 0; i < here; ++i) push.o.v[to + i] = times(values[i], push.scale);
}
