#include <arm_bf16.h>
#include <arm_neon.h>

#include "kernels/limits/limits_kernels.h"

#define HEARTH_REGISTER "+w"
#include "kernels/limits/limits-inl.h"

namespace hearth {
namespace {

// The chains are enough to hide a latency of 4 cycles with four instructions a cycle.
constexpr size_t kChains = 24;

}  // namespace

double ops_bf16_dot_i8mmbf16(size_t rounds) {
  bfloat16x8_t a = vreinterpretq_bf16_u16(vdupq_n_u16(0));
  return chains<kChains>(rounds, vdupq_n_f32(0), 32,
                         [a](float32x4_t x) { return vbfmmlaq_f32(x, a, a); });
}

}  // namespace hearth
