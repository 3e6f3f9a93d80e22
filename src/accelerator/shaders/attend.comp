// Attention in f32 where the step has all keys and values (kernels/attention/attention.h):
// AttendCall of kernel_calls.h.
#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 64) in;

layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Floats { float v[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) writeonly buffer Out { float v[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Uints { uint v[]; };

layout(push_constant) uniform Push {
  Floats q, k, v;
  Uints rows_of;  // text, position, first, last of each row
  Floats slopes;
  Out result;
  uint q_stride, k_stride, v_stride, result_stride;
  uint row0, head0;  // of the first workgroup
  uint group;
  uint key_length, value_length;
  float scale;
  uint sloped;  // 0: without slopes
  uint zero;
} p;

struct Row {
  uint head;
  uint text, position, first, last;
};
#include "attend.glsl"

Row load_row(uint index, uint head) {
  const uint at = index * 4;
  return Row(head, p.rows_of.v[at], p.rows_of.v[at + 1], p.rows_of.v[at + 2], p.rows_of.v[at + 3]);
}

float query_at(uint index, uint head, uint d) {
  return p.q.v[index * p.q_stride + head * p.key_length + d];
}

void begin_row() {}

float score(Row row, uint page, uint slot) {
  const uint position = page * kPagePositions + slot;
  const uint at = (row.text + position) * p.k_stride + row.head / p.group * p.key_length;
  float s = 0.0;
  for (uint d = 0; d < p.key_length; ++d) s = fused(query[d], p.k.v[at + d], s);
  if (p.sloped != 0) {
    const uint apart = max(position, row.position) - min(position, row.position);
    s = fused(-p.slopes.v[row.head], float(apart), s);
  }
  return s;
}

void add_values(Row row, uint page, uint begin, uint end, inout Sums span) {
  const uint origin = page * kPagePositions;
  const uint head_at = row.head / p.group * p.value_length;
  const uint own_end = invocation() < p.value_length ? end : begin;
  for (uint slot = begin; slot < own_end; ++slot) {
    const uint at = (row.text + origin + slot) * p.v_stride + head_at;
    const float probability = probabilities[slot];
    for (uint c = 0; c < kChunks; ++c) {
      span.acc[c] = fused(probability, p.v.v[at + element(c)], span.acc[c]);
    }
  }
}

void main() {
  const uint index = p.row0 + gl_WorkGroupID.x, head = p.head0 + gl_WorkGroupID.y;
  attend(load_row(index, head), index);
}
