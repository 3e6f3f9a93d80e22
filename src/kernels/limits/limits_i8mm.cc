#include <arm_neon.h>

#include "kernels/limits/limits_kernels.h"

#define HEARTH_REGISTER "+w"
#include "kernels/limits/limits-inl.h"

namespace hearth {
namespace {

// The chains are enough to hide a latency of 4 cycles with four instructions a cycle.
constexpr size_t kChains = 24;

}  // namespace

double ops_int8_dot_i8mm(size_t rounds) {
  int8x16_t a = vdupq_n_s8(1);
  return chains<kChains>(rounds, vdupq_n_s32(0), 64,
                         [a](int32x4_t x) { return vmmlaq_s32(x, a, a); });
}

}  // namespace hearth
