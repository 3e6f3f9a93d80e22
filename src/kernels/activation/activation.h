// SwiGLU's element-wise half (Shazeer 2020): out[i] = gate[i] * sigmoid(gate[i]) * up[i].
//
//   e = exp_nonpositive(-|g|) (kernels/simd/exp.h), sigmoid = (g < 0 ? e : 1) / (1 + e),
//   out = (max(g, -88) * sigmoid) * up
//
// Every ISA level gives the same bits. The sigmoid's relative error is below 2.5e-7 for g > -87.3;
// below that it is 0, so out is -0 or 0 where the truth is above -1.1e-36 |up|, for gate = -inf
// too. From g = 17 up the sigmoid is exactly 1. NaN stays NaN.
#pragma once

#include <cstdint>

namespace hearth {

struct SiluMulArgs {
  const float* gate;
  const float* up;
  uint32_t n;
  float* out;  // may be gate or up
};
using SiluMulFn = void (*)(const SiluMulArgs&);

// Gates are raised to this floor, since -inf * 0 would be NaN; the sigmoid below it is 0 anyway.
inline constexpr float kSiluFloor = -88.0f;

}  // namespace hearth
