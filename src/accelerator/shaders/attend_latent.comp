// Attention over pages of latents of any KvType (kernels/attention/latent.h): LatentAttendCall of
// kernel_calls.h.
#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 64) in;
layout(constant_id = 1) const uint kType = 0;

layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Floats { float v[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) writeonly buffer Out { float v[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Words { uint v[]; };

// vulkan/dispatch_attend.cc has the same block. A value has no bytes of its own: it is the first
// elements of its key.
layout(push_constant) uniform Push {
  Floats q, q_rope;
  Words pages;
  Words rows_of;  // first_page, first, last and a zero of each row
  Out result;
  uint q_stride, rope_stride, result_stride;
  uint q_head, rope_head;  // floats from head to head
  uint page_bytes;           // from page to page
  uint row0, head0;          // of the first workgroup
  uint key_length, value_length;
  float scale;
  uint zero;
} p;

struct Row {
  uint head;
  uint first_page, first, last;
};
#include "attend.glsl"
#include "address.glsl"
#include "kv_type.glsl"
#include "narrow.glsl"
#include "latent.glsl"

Words latents_of(Row row, uint page) {
  return Words(far(uvec2(p.pages), row.first_page + page, p.page_bytes));
}

float query_at(uint index, uint head, uint d) {
  if (d < p.value_length) return p.q.v[index * p.q_stride + head * p.q_head + d];
  return p.q_rope.v[index * p.rope_stride + head * p.rope_head + (d - p.value_length)];
}

void begin_row() {}

float score(Row row, uint page, uint slot) {
  Words latents = latents_of(row, page);
  float s = 0.0;
  for (uint d = 0; d < p.key_length; ++d) {
    s = fused(query[d], latent_at(latents, p.key_length, slot, d), s);
  }
  return s;
}

void add_values(Row row, uint page, uint begin, uint end, inout Sums span) {
  Words latents = latents_of(row, page);
  const uint own_end = invocation() < p.value_length ? end : begin;
  for (uint slot = begin; slot < own_end; ++slot) {
    const float probability = probabilities[slot];
    for (uint c = 0; c < kChunks; ++c) {
      const float x = latent_at(latents, p.key_length, slot, element(c));
      span.acc[c] = fused(probability, x, span.acc[c]);
    }
  }
}

void main() {
  const uint index = p.row0 + gl_WorkGroupID.x, head = p.head0 + gl_WorkGroupID.y, at = index * 4;
  attend(Row(head, p.rows_of.v[at], p.rows_of.v[at + 1], p.rows_of.v[at + 2]), index);
}
