// choose_experts() of kernels/routing/routing.h: RouteCall of kernel_calls.h. A workgroup takes a
// row, and its invocations share the experts. A computation over all experts in order, for example
// a sum, is done by every invocation for itself.
//
// Floats are compared by keys, which are integers in the order of the floats. A compiler may turn
// comparisons of floats into ones that lose a NaN. A NaN has key 0, below that of -infinity; both
// zeros have the same key.
#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 64) in;
layout(constant_id = 0) const uint kGating = 0;
layout(constant_id = 1) const bool kBias = false;
layout(constant_id = 2) const bool kNormalised = false;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Floats { float v[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words { uint v[]; };

// vulkan/dispatch_routing.cc has the same block.
layout(push_constant) uniform Push {
  Floats logits, bias;
  Words chosen;
  Floats weights;
  uint logits_stride, experts, used;
  uint groups, groups_used;
  float scale, logit_scale;
  uint zero;
} p;
#include "exact.glsl"
#include "rounded.glsl"
#include "sigmoid.glsl"

const uint kSoftmax = 0, kSigmoid = 1, kSoftmaxOfChosen = 2;
const uint kMaxExperts = 1024, kMaxChosen = 64;
const uint kSign = 0x80000000u, kInfinityBits = 0x7f800000u;
const uint kNoneKey = 0x007fffffu, kZeroKey = kSign;  // the keys of -infinity, and of both zeros

shared float scores[kMaxExperts], ranks[kMaxExperts];
shared uint keys[kMaxExperts];
shared bool taken[kMaxExperts];
shared uint chosen[kMaxChosen];

uint key_of(float x) {
  const uint bits = floatBitsToUint(x);
  if ((bits & ~kSign) > kInfinityBits) return 0;
  if (bits == kSign) return kZeroKey;
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}
float value_of(uint key) { return uintBitsToFloat((key & kSign) != 0 ? key ^ kSign : ~key); }
bool finite(float x) { return (floatBitsToUint(x) & kInfinityBits) != kInfinityBits; }

// Turns the logits into scores. Returns false where no scores can be made of them, for example
// because of a NaN.
bool score() {
  const uint me = gl_LocalInvocationID.x;
  uint highest = kNoneKey;
  bool numbers = true;
  for (uint e = 0; e < p.experts; ++e) {
    const uint key = key_of(scores[e]);
    numbers = numbers && key != 0;
    highest = max(highest, key);
  }
  if (kGating == kSoftmaxOfChosen) return numbers && finite(value_of(highest));
  barrier();  // all have read the logits, which scores replace now
  for (uint e = me; e < p.experts; e += gl_WorkGroupSize.x) {
    if (kGating == kSigmoid) {
      scores[e] = sigmoid(scores[e]);
    } else {
      precise float x = scores[e] - value_of(highest);
      scores[e] = exp_nonpositive(x);
    }
  }
  if (kGating == kSigmoid) return numbers;
  barrier();
  precise float sum = 0.0;
  for (uint e = 0; e < p.experts; ++e) sum = sum + scores[e];
  barrier();
  for (uint e = me; e < p.experts; e += gl_WorkGroupSize.x) scores[e] = quotient(scores[e], sum);
  return numbers && finite(sum);
}

// Whether key i is among the `most` largest of the first n keys. Of equal keys, the first ones
// count as larger.
bool among(uint i, uint n, uint most) {
  uint better = 0;
  for (uint j = 0; j < n; ++j) {
    better += uint(keys[j] > keys[i] || (keys[j] == keys[i] && j < i));
  }
  return better < most;
}

// Returns the key by which a group of n experts is compared with others.
uint group_key(uint first, uint n) {
  uint best = kNoneKey, second = kNoneKey;
  for (uint e = first; e < first + n; ++e) {
    const uint key = key_of(ranks[e]);
    second = max(second, min(best, key));
    best = max(best, key);
  }
  if (kGating != kSigmoid || n == 1) return best;
  precise float sum = value_of(best) + value_of(second);
  return key_of(sum);
}

// Fills the keys by which experts are chosen. Experts of groups that are not among the best get the
// lowest key.
void rank_experts() {
  const uint me = gl_LocalInvocationID.x, each = p.experts / p.groups;
  for (uint e = me; e < p.experts; e += gl_WorkGroupSize.x) {
    precise float rank = scores[e];
    if (kBias) rank = rank + p.bias.v[e];
    ranks[e] = rank;
  }
  barrier();
  const bool leaves = p.groups_used < p.groups;
  if (leaves) {
    for (uint g = me; g < p.groups; g += gl_WorkGroupSize.x) keys[g] = group_key(g * each, each);
    barrier();
    for (uint g = me; g < p.groups; g += gl_WorkGroupSize.x) {
      taken[g] = among(g, p.groups, p.groups_used);
    }
    barrier();
  }
  for (uint e = me; e < p.experts; e += gl_WorkGroupSize.x) {
    keys[e] = !leaves || taken[e / each] ? key_of(ranks[e]) : kNoneKey;
  }
  barrier();
}

void choose(uint at) {
  const uint me = gl_LocalInvocationID.x;
  for (uint e = me; e < p.experts; e += gl_WorkGroupSize.x) taken[e] = among(e, p.experts, p.used);
  barrier();
  for (uint e = me; e < p.experts; e += gl_WorkGroupSize.x) {
    if (!taken[e]) continue;
    uint before = 0;
    for (uint f = 0; f < e; ++f) before += uint(taken[f]);
    chosen[before] = e;
    p.chosen.v[at + before] = e;
  }
  barrier();
}

// Computes the weights of the chosen experts. One invocation does this.
void weigh(uint at, bool numbers) {
  uint highest = kNoneKey;
  for (uint i = 0; i < p.used; ++i) highest = max(highest, key_of(scores[chosen[i]]));
  precise float sum = 0.0;
  for (uint i = 0; i < p.used; ++i) {
    const uint e = chosen[i];
    if (kGating == kSoftmaxOfChosen) {
      precise float x = scores[e] - value_of(highest);
      scores[e] = exp_nonpositive(x);
    }
    sum = sum + scores[e];
  }
  const bool divides = kNormalised || kGating == kSoftmaxOfChosen;
  const float by = divides && key_of(sum) > kZeroKey ? quotient(p.scale, sum) : p.scale;
  for (uint i = 0; i < p.used; ++i) {
    precise float weight = scores[chosen[i]] * by;
    p.weights.v[at + i] = numbers ? weight : uintBitsToFloat(0x7fc00000u);
  }
}

void main() {
  const uint row = gl_WorkGroupID.x, at = row * p.used;
  for (uint e = gl_LocalInvocationID.x; e < p.experts; e += gl_WorkGroupSize.x) {
    precise float scaled = p.logits.v[row * p.logits_stride + e] * p.logit_scale;
    scores[e] = scaled;
  }
  barrier();
  const bool numbers = score();
  barrier();
  rank_experts();
  choose(at);
  if (gl_LocalInvocationID.x == 0) weigh(at, numbers);
}
