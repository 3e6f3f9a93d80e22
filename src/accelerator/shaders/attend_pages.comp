// Attention over pages of keys and values of any KvType (kernels/attention/attention.h):
// PagedAttendCall of kernel_calls.h.
#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 64) in;
layout(constant_id = 1) const uint kType = 0;

layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Floats { float v[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) writeonly buffer Out { float v[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Words { uint v[]; };

// vulkan/dispatch_attend.cc has the same block.
layout(push_constant) uniform Push {
  Floats q;
  Words pages;
  Words rows_of;  // first_page, first, last and a zero of each row
  Out result;
  uint q_stride, result_stride;
  uint page_bytes, head_bytes, key_bytes;  // from page to page, of a head, of its keys
  uint row0, head0;                        // of the first workgroup
  uint group, kv_head0;
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

// The memory of q8_0. A chunk of a value has two of its blocks.
const uint kBlocks = 2 * kChunks;
shared int query_codes[kMaxHeadDim];
shared uint largest[kBlocks];  // per block: b of the current page as bits; 0 between pages
shared float inverses[kBlocks], units[kBlocks];
shared int weights[kBlocks * kPagePositions];  // bits of floats until they are rounded

float query_unit;

float query_at(uint index, uint head, uint d) {
  return p.q.v[index * p.q_stride + head * p.key_length + d];
}

float not_a_number() { return uintBitsToFloat(0x7fc00000u); }

// Return where the keys or the values of the row's head begin in page `page` of the row's text.
Words keys_of(Row row, uint page) {
  const uint head = p.kv_head0 + row.head / p.group;
  return Words(far(far(uvec2(p.pages), row.first_page + page, p.page_bytes), head, p.head_bytes));
}
Words values_of(Row row, uint page) { return Words(forward(uvec2(keys_of(row, page)), p.key_bytes)); }

uint half_at(Words words, uint i) { return words.v[i / 2] >> 16 * (i % 2) & 0xffffu; }

float float_at(Words words, uint i) {
  if (kType == kF32) return uintBitsToFloat(words.v[i]);
  const uint bits = half_at(words, i);
  return kType == kF16 ? f16_value(bits) : uintBitsToFloat(bits << 16);
}

// Returns the scale of a block for slot `slot`, from keys or values in q8_0.
float scale_at(Words words, uint length, uint block, uint slot) {
  return f16_value(half_at(words, scales_at(length) + block * kPagePositions + slot));
}

int first_code(uint word) { return int(word << 24) >> 24; }
int second_code(uint word) { return int(word << 16) >> 24; }

// Returns the float nearest to an integer. A driver's own conversion need not round to the nearest.
float nearest(int x) {
  precise float high = float(x >> 12) * 4096.0;  // exact, as is the conversion of the lower bits
  precise float sum = high + float(x & 0xfff);
  return opaque(sum);
}

// The next three functions count in steps: 32767 steps make the float with bits `highest`.
// steps_in() returns how many steps make 1 (0 if that float is tiny). steps_of() returns how many
// make x, whose magnitude is at most that float's. step_of() returns the length of a step.
float steps_in(uint highest) {
  return highest < kMinMagnitude ? 0.0 : quotient(32767.0, uintBitsToFloat(highest));
}
int steps_of(float x, float inverse) {
  precise float scaled = x * inverse;
  return int(roundEven(opaque(scaled)));
}
float step_of(uint highest, bool finite) {
  precise float unit = uintBitsToFloat(highest) * uintBitsToFloat(0x38000100u);  // 1 / 32767
  return finite ? opaque(unit) : not_a_number();
}

void begin_row() {
  if (kType != kQ8_0) return;
  uint highest = 0;
  for (uint d = 0; d < p.key_length; ++d) {
    highest = max(highest, floatBitsToUint(query[d]) & 0x7fffffffu);
  }
  const bool finite = highest < kInfinity;
  query_unit = step_of(highest, finite);
  const float inverse = steps_in(highest);
  for (uint d = invocation(); d < padded_length(p.key_length); d += 64) {
    const bool is_number = finite && d < p.key_length;
    query_codes[d] = is_number ? steps_of(query[d], inverse) : 0;
  }
  for (uint b = invocation(); b < kBlocks; b += 64) largest[b] = 0;
  barrier();
}

float score_codes(Words keys, uint slot) {
  const uint pairs = padded_length(p.key_length) / 2;
  float s = 0.0;
  for (uint pair = 0; pair < pairs;) {
    const float scale = scale_at(keys, p.key_length, pair / 16, slot);
    const uint end = min(pair + 16, pairs);
    int sum = 0;
    for (; pair < end; ++pair) {
      const uint codes = half_at(keys, pair * kPagePositions + slot);
      sum += query_codes[2 * pair] * first_code(codes);
      sum += query_codes[2 * pair + 1] * second_code(codes);
    }
    s = fused(nearest(sum), scale, s);
  }
  precise float in_units = s * query_unit;
  return opaque(in_units);
}

float score(Row row, uint page, uint slot) {
  Words keys = keys_of(row, page);
  if (kType == kQ8_0) return score_codes(keys, slot);
  float s = 0.0;
  for (uint d = 0; d < p.key_length; ++d) {
    s = fused(query[d], float_at(keys, d * kPagePositions + slot), s);
  }
  return s;
}

void add_floats(Words values, uint begin, uint end, inout Sums span) {
  const uint stride = padded_length(p.value_length);
  const uint own_end = invocation() < p.value_length ? end : begin;
  for (uint slot = begin; slot < own_end; ++slot) {
    const float probability = probabilities[slot];
    for (uint c = 0; c < kChunks; ++c) {
      span.acc[c] = fused(probability, float_at(values, slot * stride + element(c)), span.acc[c]);
    }
  }
}

// Makes the weights, inverses and units of a page. An invocation first takes a slot, then a block,
// then a slot again.
void weigh(Words values, uint begin, uint end) {
  const uint slot = invocation(), blocks = (p.value_length + 31) / 32;
  const bool seen = begin <= slot && slot < end;
  for (uint b = 0; b < blocks; ++b) {
    precise float x = 0.0;
    if (seen) x = probabilities[slot] * scale_at(values, p.value_length, b, slot);
    const uint bits = floatBitsToUint(opaque(x));
    weights[b * kPagePositions + slot] = int(bits);
    atomicMax(largest[b], bits & 0x7fffffffu);
  }
  barrier();
  bool finite = true;
  for (uint b = 0; b < blocks; ++b) finite = finite && largest[b] < kInfinity;
  if (slot < blocks) {
    inverses[slot] = finite ? steps_in(largest[slot]) : 0.0;
    units[slot] = step_of(largest[slot], finite);
  }
  barrier();
  if (slot < blocks) largest[slot] = 0;
  for (uint b = 0; b < blocks; ++b) {
    const uint at = b * kPagePositions + slot;
    weights[at] = finite ? steps_of(intBitsToFloat(weights[at]), inverses[b]) : 0;
  }
  barrier();
}

// Adds the values from their codes, two slots at a time. A slot that the row does not see has
// weight 0.
void add_codes(Words values, uint begin, uint end, inout Sums span) {
  weigh(values, begin, end);
  const uint stride = padded_length(p.value_length);
  if (invocation() >= p.value_length) return;
  for (uint c = 0; c < kChunks; ++c) {
    const uint d = element(c), weight = d / 32 * kPagePositions;
    int sum = 0;
    for (uint pair = begin / 2; pair < (end + 1) / 2; ++pair) {
      const uint codes = half_at(values, pair * stride + d);
      sum += weights[weight + 2 * pair] * first_code(codes);
      sum += weights[weight + 2 * pair + 1] * second_code(codes);
    }
    span.acc[c] = fused(nearest(sum), units[d / 32], span.acc[c]);
  }
}

void add_values(Row row, uint page, uint begin, uint end, inout Sums span) {
  Words values = values_of(row, page);
  if (kType == kQ8_0) {
    add_codes(values, begin, end, span);
  } else {
    add_floats(values, begin, end, span);
  }
}

void main() {
  const uint index = p.row0 + gl_WorkGroupID.x, head = p.head0 + gl_WorkGroupID.y, at = index * 4;
  attend(Row(head, p.rows_of.v[at], p.rows_of.v[at + 1], p.rows_of.v[at + 2]), index);
}
