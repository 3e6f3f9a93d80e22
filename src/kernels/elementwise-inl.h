// The small kernels over Vec16 (kernels/simd/). ISA files include this after their Vec16, and
// define all of a level's kernels with HEARTH_DEFINE_ELEMENTWISE.
#pragma once

#include "kernels/activation/activation-inl.h"
#include "kernels/kernels.h"
#include "kernels/maximum/maximum-inl.h"
#include "kernels/norm/norm-inl.h"
#include "kernels/recurrent/delta_gates-inl.h"
#include "kernels/recurrent/delta_rule-inl.h"
#include "kernels/recurrent/gates-inl.h"
#include "kernels/recurrent/short_conv-inl.h"
#include "kernels/rope/rope-inl.h"
#include "kernels/sum/sum-inl.h"

#define HEARTH_DEFINE_ELEMENTWISE(name, args, level) \
  void name##_##level(const args& a) { name(a); }
