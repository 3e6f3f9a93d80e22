// Attention of a row of one head by one workgroup (kernels/attention/attention.h): scores, pages,
// spans and their merge. The pages that the row sees are visited in their order. In each page,
// invocation i computes the score of slot i, and then element i of each chunk of 64 elements of the
// values.
//
// A shader that includes this file defines before it a struct Row with `head`, `first` and `last`.
// After it, the shader defines the functions that are only declared here. These read queries, keys
// and values.
#include "exact.glsl"
#include "rounded.glsl"

const uint kPagePositions = 64, kSpanPages = 8, kLanes = 16, kMaxHeadDim = 512;
const uint kMaxQuery = 640;  // the longest query, for latents
layout(constant_id = 0) const uint kChunks = 1;  // chunks of a value; the last one may be short

// The sums of a row for one span, or for all spans merged so far. `peak` is the same in all
// invocations. `acc` has each invocation's own elements. Until a span ends, invocation i has in
// `sum` the sum of lane i % 16; then all invocations have the sum of all lanes.
struct Sums {
  float acc[kChunks];
  float sum, peak;
};

shared float query[kMaxQuery];  // times p.scale
shared float scores[kPagePositions];
shared float probabilities[kPagePositions];
shared float lanes[kLanes];

uint invocation() { return gl_LocalInvocationID.x; }
// Returns which element of a value this invocation has in a chunk. Invocations past the end of the
// value compute its last element, but do not write it.
uint element(uint chunk) { return min(chunk * 64 + invocation(), p.value_length - 1); }

float minus_infinity() { return uintBitsToFloat(0xff800000u); }

void clear(out Sums sums) {
  for (uint c = 0; c < kChunks; ++c) sums.acc[c] = 0.0;
  sums.sum = 0.0;
  sums.peak = minus_infinity();
}

// Returns element d of the query of row `index`.
float query_at(uint index, uint head, uint d);
// Prepares a row after its query was loaded. A barrier lies between the writes of `query` and this
// call.
void begin_row();
// Returns the score of a slot that the row sees. It must not use a barrier.
float score(Row row, uint page, uint slot);
// Adds to span.acc the values of slots [begin, end) of a page, times their `probabilities`. The row
// sees these slots; `probabilities` of all other slots are 0. All invocations call this.
void add_values(Row row, uint page, uint begin, uint end, inout Sums span);

void load_query(uint index, uint head) {
  for (uint d = invocation(); d < p.key_length; d += 64) {
    precise float scaled = query_at(index, head, d) * p.scale;
    query[d] = scaled;
  }
  barrier();
}

// Visits a page. Invocations may write `scores` at its start, since all have read those of the page
// before when they passed that page's second barrier. In the same way the page's first barrier
// protects `probabilities`.
void visit(Row row, uint page, inout Sums span) {
  const uint origin = page * kPagePositions, slot = invocation();
  const uint begin = max(row.first, origin) - origin;
  const uint end = min(row.last + 1 - origin, kPagePositions);
  const bool seen = begin <= slot && slot < end;
  float s = minus_infinity();
  if (seen) s = score(row, page, slot);
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
  add_values(row, page, begin, end, span);
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

// Merges a span into the sums so far. The row sees at least one position of every span that is
// merged.
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

// Computes row `index` of the call.
void attend(Row row, uint index) {
  load_query(index, row.head);
  begin_row();
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
  const uint at = index * p.result_stride + row.head * p.value_length;
  for (uint c = 0; c < kChunks; ++c) {
    const uint d = c * 64 + invocation();
    precise float x = merged.acc[c] * inverse;
    if (d < p.value_length) p.result.v[at + d] = x;
  }
}
