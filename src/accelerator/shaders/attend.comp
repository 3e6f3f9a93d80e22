// kernels/attention/attention.h over f32 rows of a step: AttendCall of kernel_calls.h. A workgroup
// is one row of one head. It visits the pages that the row sees in their order; an invocation is a
// slot of a page for its score, then one element of the values in each chunk of 64.
#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_GOOGLE_include_directive : require

const uint kPagePositions = 64, kSpanPages = 8, kLanes = 16, kMaxHeadDim = 512;
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint kChunks = 1;  // of a value, the last of which may be short

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
  uint sloped;  // 0: there are no slopes
  uint zero;
} p;
#include "exact.glsl"
#include "rounded.glsl"

struct Row {
  uint head;
  uint text, position, first, last;
};

// What a row has of a span, or of the spans merged so far. Invocations have all but `acc` alike;
// `sum` of a span is that of lane `invocation % 16` until the span ends.
struct Sums {
  float acc[kChunks];
  float sum, peak;
};

shared float query[kMaxHeadDim];  // scaled
shared float scores[kPagePositions];
shared float probabilities[kPagePositions];
shared float lanes[kLanes];

uint invocation() { return gl_LocalInvocationID.x; }
// The element of a value that an invocation has in a chunk. Those past the end take the last one,
// which they do not write.
uint element(uint chunk) { return min(chunk * 64 + invocation(), p.value_length - 1); }

float minus_infinity() { return uintBitsToFloat(0xff800000u); }

void clear(out Sums sums) {
  for (uint c = 0; c < kChunks; ++c) sums.acc[c] = 0.0;
  sums.sum = 0.0;
  sums.peak = minus_infinity();
}

Row load_row(uint index, uint head) {
  const uint at = index * 4;
  return Row(head, p.rows_of.v[at], p.rows_of.v[at + 1], p.rows_of.v[at + 2], p.rows_of.v[at + 3]);
}

void load_query(uint index, uint head) {
  const uint at = index * p.q_stride + head * p.key_length;
  for (uint d = invocation(); d < p.key_length; d += 64) {
    precise float scaled = p.q.v[at + d] * p.scale;
    query[d] = scaled;
  }
  barrier();
}

float score(Row row, uint position) {
  const uint at = (row.text + position) * p.k_stride + row.head / p.group * p.key_length;
  float s = 0.0;
  for (uint d = 0; d < p.key_length; ++d) s = fused(query[d], p.k.v[at + d], s);
  if (p.sloped != 0) {
    const uint apart = max(position, row.position) - min(position, row.position);
    s = fused(-p.slopes.v[row.head], float(apart), s);
  }
  return s;
}

void add_values(Row row, uint origin, uint begin, uint end, inout Sums span) {
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

// Who writes `scores` has passed the second barrier of the page before, behind which nobody reads
// them; so it is with `probabilities` and the first one.
void visit(Row row, uint page, inout Sums span) {
  const uint origin = page * kPagePositions, slot = invocation();
  const uint begin = max(row.first, origin) - origin;
  const uint end = min(row.last + 1 - origin, kPagePositions);
  const bool seen = begin <= slot && slot < end;
  float s = minus_infinity();
  if (seen) s = score(row, origin + slot);
  scores[slot] = s;
  barrier();

  float highest = span.peak;
  for (uint i = begin; i < end; ++i) {
    if (scores[i] > highest) highest = scores[i];
  }
  precise float lower = s - highest;
  probabilities[slot] = seen ? exp_nonpositive(lower) : 0.0;
  barrier();

  precise float fallen = span.peak - highest;
  const float factor = exp_nonpositive(fallen);
  const uint lane = slot % kLanes;
  precise float of_lane = probabilities[lane] + probabilities[lane + 16];
  of_lane = of_lane + probabilities[lane + 32];
  of_lane = of_lane + probabilities[lane + 48];
  span.sum = fused(span.sum, factor, of_lane);
  for (uint c = 0; c < kChunks; ++c) {
    precise float scaled = span.acc[c] * factor;
    span.acc[c] = scaled;
  }
  add_values(row, origin, begin, end, span);
  span.peak = highest;
}

float add_by_halves(float lane_sum) {
  if (invocation() < kLanes) lanes[invocation()] = lane_sum;
  barrier();
  precise float sums[8];
  for (uint l = 0; l < 8; ++l) sums[l] = lanes[l] + lanes[l + 8];
  for (uint apart = 4; apart > 0; apart /= 2) {
    for (uint l = 0; l < apart; ++l) sums[l] = sums[l] + sums[l + apart];
  }
  return sums[0];
}

// No span is left out: of each that is visited the row sees a position.
void merge(Sums span, inout Sums merged) {
  const float highest = merged.peak < span.peak ? span.peak : merged.peak;
  precise float old_lower = merged.peak - highest;
  precise float new_lower = span.peak - highest;
  const float old_factor = exp_nonpositive(old_lower), new_factor = exp_nonpositive(new_lower);
  for (uint c = 0; c < kChunks; ++c) {
    precise float scaled = span.acc[c] * new_factor;
    merged.acc[c] = fused(merged.acc[c], old_factor, scaled);
  }
  precise float scaled_sum = span.sum * new_factor;
  merged.sum = fused(merged.sum, old_factor, scaled_sum);
  merged.peak = highest;
}

void main() {
  const uint index = p.row0 + gl_WorkGroupID.x, head = p.head0 + gl_WorkGroupID.y;
  const Row row = load_row(index, head);
  load_query(index, head);
  Sums merged, span;
  clear(merged);
  const uint pages = row.last / kPagePositions + 1;
  uint page = row.first / kPagePositions;
  while (page < pages) {
    const uint end = min((page / kSpanPages + 1) * kSpanPages, pages);
    clear(span);
    for (; page < end; ++page) visit(row, page, span);
    span.sum = add_by_halves(span.sum);
    merge(span, merged);
  }
  const float inverse = quotient(1.0, merged.sum);
  const uint at = index * p.result_stride + head * p.value_length;
  for (uint c = 0; c < kChunks; ++c) {
    const uint d = c * 64 + invocation();
    precise float x = merged.acc[c] * inverse;
    if (d < p.value_length) p.result.v[at + d] = x;
  }
}
