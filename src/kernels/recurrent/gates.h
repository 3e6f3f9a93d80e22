// The steps around a head's state (kernels/recurrent/delta_rule.h), row by row. Every ISA level
// gives the same bits.
//
// unit_norm divides a row by its 2-norm, or by eps if that is larger: out[i] = x[i] r, r = 1 /
// max(sqrt(ss), eps). ss is the sum of squares, in the order of an RMS norm (kernels/norm/norm.h).
//
// gated_norm is an RMS norm times SiLU of a gate: out[i] = silu(gate[i]) normed[i]. It gives the
// bits of rms_norm and then silu_mul (kernels/norm/norm.h, kernels/activation/activation.h).
//
// sigmoid_mul: out[i] = x[i] sigmoid(gate[i]), the sigmoid of kernels/simd/sigmoid.h.
//
// Both norms give NaN for all of a row whose ss overflows binary32, or that holds an infinity or a
// NaN.
#pragma once

#include <cstdint>

namespace hearth {

struct UnitNormArgs {
  const float* x;  // [n]
  uint32_t n;
  float eps;   // above 0
  float* out;  // [n], may be x
};

struct GatedNormArgs {
  const float* x;       // [n]
  const float* weight;  // [n]
  const float* gate;    // [n]
  uint32_t n;
  float eps;
  float* out;  // [n], may be x or gate
};

struct SigmoidMulArgs {
  const float* x;     // [n]
  const float* gate;  // [n]
  uint32_t n;
  float* out;  // [n], may be x or gate
};

}  // namespace hearth
