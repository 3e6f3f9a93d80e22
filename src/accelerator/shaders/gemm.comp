// The products of kernels/gemm/gemm.h over the panels of tensor/pack_spec.h, for all kinds. The
// constants of gemm_kind.glsl describe the kind.
//
// An invocation multiplies one row of a panel, its lane, by kRows rows of activations. So it reads
// and decodes the lane's codes once for all of these rows. Four invocations of a workgroup have the
// same lane: they take different rows of activations, or, if there are few rows, different panels.
//
// In a product of an expert, the rows are those that chose the expert (ExpertGemmCall of
// kernel_calls.h). Only the accelerator knows how many these are. So workgroups take the product's
// tiles in turn until none is left.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_spirv_intrinsics : require

#include "gemm_kind.glsl"

layout(constant_id = 18) const uint kRows = 4;  // rows of activations of an invocation
layout(constant_id = 19) const bool kFewRows = false;  // at most kRows rows
layout(constant_id = 20) const bool kIsCut = false;
layout(constant_id = 21) const bool kOfExpert = false;  // never with kIsCut
layout(constant_id = 22) const bool kGathers = false;   // for an expert: its rows lie in any order

#define UNROLL [[unroll]]

layout(local_size_x = 16, local_size_y = 4) in;

layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Words { uint v[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) readonly buffer Pairs { uvec2 v[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Fours { uvec4 v[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Floats { float v[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) writeonly buffer Outs { float v[]; };

// vulkan/dispatch_gemm.cc has the same block. The addresses are those of the dispatch's first
// panel, row and output, and indices count from there.
layout(push_constant) uniform Push {
  Words codes, scales;
  Fours a;
  Floats a_scale, a_sum;  // a_sum: sum32, or sum16 where a block has two dot products
  Outs o;
  uint codes_panel;   // words from panel to panel
  uint scales_panel;  // bytes from panel to panel
  uint block_scales;  // bytes before those of blocks in the scales of a panel
  uint super_offset, group_shift;  // arguments of super_of()
  uint row_stride, out_stride;
  uint m, panels;
  uint block0, segments;
  // The ends of the segments; the first segment begins at block0. A product of an expert has only
  // one segment, and the next elements have three other things: the address of the first place of
  // expert0, the address of the rows of all places, and how many of the call's experts come before
  // this one.
  uint ends[8];
  uint zero;
} p;

#include "exact.glsl"
#include "gemm_scales.glsl"
#include "gemm_values.glsl"

uint panel, lane;  // of the invocation
uint first[kRows];  // of each of its rows of activations: block 0, counted from row 0's
float acc[kRows];   // sums of the segment so far
float part[kRows];  // for FP8: sums of the super-block so far
float branch[3 * kRows];  // sums of left branches that await their right ones, by level

void add_integers(uint b) {
  int values[8];
  read_values(panel * p.codes_panel + kCodeWords * b + lane, values);
  const Scales w = read_scales(panel * p.scales_panel, lane, b);
  UNROLL for (uint i = 0; i < kRows; ++i) {
    const uint at = first[i] + b;
    const float a_scale = p.a_scale.v[at];
    Fours codes = Fours(forward(uvec2(p.a), 32 * at));
    int dot = 0;
    UNROLL for (uint h = 0; h < 2; ++h) {
      const uvec4 a = codes.v[h];
      UNROLL for (uint g = 0; g < 4; ++g) dot = dot + dot4(values[4 * h + g], int(a[g]), 0);
      if (kParts == 1 && h == 0) continue;  // one dot product takes both halves
      acc[i] = fused(float(dot), times(w.scale[h], a_scale), acc[i]);
      if (kMinima) acc[i] = fused(w.least[h], p.a_sum.v[kParts * at + (kParts - 1) * h], acc[i]);
      dot = 0;
    }
  }
}

// Returns activations 4 g to 4 g + 3 of a block. Block `at` is counted from the first block of row
// 0.
vec4 four_activations(uint at, uint g) {
  if (kIsBf16) {
    const uvec2 a = Pairs(forward(uvec2(p.a), 64 * at + 8 * g)).v[0];
    return uintBitsToFloat(uvec4(a.x << 16, a.x & 0xffff0000u, a.y << 16, a.y & 0xffff0000u));
  }
  return uintBitsToFloat(Fours(forward(uvec2(p.a), 128 * at + 16 * g)).v[0]);
}

// Adds a block to acc, or, for FP8, to part.
void add_floats(uint b) {
  const uint at = panel * p.codes_panel + kCodeWords * b;
  // Unrolling this loop made lavapipe compile a second longer, and made nothing faster.
  [[dont_unroll]] for (uint g = 0; g < 8; ++g) {
    const vec4 w = four_weights(at, lane, g);
    UNROLL for (uint i = 0; i < kRows; ++i) {
      const vec4 a = four_activations(first[i] + b, g);
      precise float sum = kIsFp8 ? part[i] : acc[i];
      sum = fused(w.x, a.x, sum);
      sum = fused(w.y, a.y, sum);
      sum = fused(w.z, a.z, sum);
      sum = fused(w.w, a.w, sum);
      if (kIsFp8) part[i] = sum;
      else acc[i] = sum;
    }
  }
}

void end_super(uint b) {
  const float scale = fp8_scale(panel * p.scales_panel, lane, b);
  UNROLL for (uint i = 0; i < kRows; ++i) {
    acc[i] = fused(part[i], scale, acc[i]);
    part[i] = 0.0;
  }
}

void add_segment(uint begin, uint end) {
  UNROLL for (uint i = 0; i < kRows; ++i) acc[i] = part[i] = 0.0;
  for (uint b = begin; b < end; ++b) {
    if (kWeights == kInt8) {
      add_integers(b);
    } else {
      add_floats(b);
      if (kIsFp8 && (b + 1 == end || super_of(b) != super_of(b + 1))) end_super(b);
    }
  }
}

// Adds the sum of segment `s` to the tree of sums. In a tree of n segments, the left branch has the
// largest power of two below n. So before segment s, for each bit `level` that is set in s, a sum
// of 2^level segments still waits for its right branch. A right branch is complete when all lower
// bits of s are set; after the last segment, all are complete.
void join(uint s) {
  bool whole = true;
  UNROLL for (uint level = 0; level < 3; ++level) {
    const bool left = (s >> level & 1u) != 0;
    UNROLL for (uint i = 0; i < kRows; ++i) {
      precise float sum = branch[level * kRows + i] + acc[i];
      if (left && whole) acc[i] = sum;
      if (!left && whole) branch[level * kRows + i] = acc[i];
    }
    if (!left && s + 1 < p.segments) whole = false;
  }
}

// The rows of a product. There are `count` of them, and the first is row `out0` of the output.
struct Rows {
  uint count, out0;
  uvec2 of;  // if kGathers: the address of the first row's number
};

Rows rows_of_product() {
  if (!kOfExpert) return Rows(p.m, 0, uvec2(0));
  Words places = Words(uvec2(p.ends[1], p.ends[2]));
  const uint begin = places.v[p.ends[5]], end = places.v[p.ends[5] + 1];
  const uvec2 of = far(uvec2(p.ends[3], p.ends[4]), begin, 4);
  return Rows(end - begin, begin - places.v[0], of);
}

// Computes kRows of these rows, from row0 on.
void multiply(const Rows rows, uint row0) {
  UNROLL for (uint i = 0; i < kRows; ++i) {
    // An invocation beyond the last row computes the last row again.
    const uint row = min(row0 + i, rows.count - 1);
    first[i] = (kGathers ? Words(rows.of).v[row] : rows.out0 + row) * (p.row_stride / 32);
  }
  if (kIsCut) {
    for (uint s = 0; s < p.segments; ++s) {
      add_segment(s == 0 ? p.block0 : p.ends[s - 1], p.ends[s]);
      join(s);
    }
  } else {
    add_segment(p.block0, p.ends[0]);
  }
  UNROLL for (uint i = 0; i < kRows; ++i) {
    const uint row = rows.out0 + row0 + i;
    if (row0 + i < rows.count) p.o.v[row * p.out_stride + 16 * panel + lane] = acc[i];
  }
}

void main() {
  const uint x = gl_WorkGroupID.x, of_four = gl_LocalInvocationID.y;
  lane = gl_LocalInvocationID.x;
  panel = kFewRows ? 4 * x + of_four : x;
  if (panel >= p.panels) return;
  const Rows rows = rows_of_product();
  for (uint y = gl_WorkGroupID.y;; y += gl_NumWorkGroups.y) {
    const uint row0 = (kFewRows ? y : 4 * y + of_four) * kRows;
    if (row0 >= rows.count) return;
    multiply(rows, row0);
    if (!kOfExpert) return;
  }
}
