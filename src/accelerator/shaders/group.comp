// group_by_expert() of kernels/routing/routing.h: GroupCall of kernel_calls.h. A workgroup takes an
// expert, and each of its invocations takes a part of all choices. The invocation counts the
// choices of that expert and of the experts before it in its part. So the workgroup finds where
// each invocation's places begin.
#version 450
#extension GL_EXT_buffer_reference : require

layout(local_size_x = 256) in;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words { uint v[]; };

// vulkan/dispatch_routing.cc has the same block.
layout(push_constant) uniform Push {
  Words chosen, place, row, first;
  uint choices, used;
} p;

shared uint before_counts[gl_WorkGroupSize.x], own_counts[gl_WorkGroupSize.x];

void main() {
  const uint expert = gl_WorkGroupID.x, me = gl_LocalInvocationID.x;
  const uint part = (p.choices + gl_WorkGroupSize.x - 1) / gl_WorkGroupSize.x;
  const uint begin = min(me * part, p.choices), end = min(begin + part, p.choices);
  uint before = 0, own = 0;
  for (uint i = begin; i < end; ++i) {
    const uint chosen = p.chosen.v[i];
    before += uint(chosen < expert);
    own += uint(chosen == expert);
  }
  before_counts[me] = before;
  own_counts[me] = own;
  barrier();
  uint first = 0, at = 0;
  for (uint i = 0; i < gl_WorkGroupSize.x; ++i) {
    first += before_counts[i];
    if (i < me) at += own_counts[i];
  }
  at += first;
  for (uint i = begin; i < end; ++i) {
    if (p.chosen.v[i] != expert) continue;
    p.place.v[i] = at;
    p.row.v[at] = i / p.used;
    ++at;
  }
  if (me > 0) return;
  p.first.v[expert] = first;
  if (expert + 1 == gl_NumWorkGroups.x) p.first.v[expert + 1] = p.choices;
}
