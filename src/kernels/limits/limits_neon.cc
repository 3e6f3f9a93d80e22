#include <arm_neon.h>

#include "kernels/limits/limits_kernels.h"
#include "kernels/limits/read-inl.h"

#define HEARTH_REGISTER "+w"
#include "kernels/limits/limits-inl.h"

namespace hearth {
namespace {

// The chains are enough to hide a latency of 4 cycles with four instructions a cycle.
constexpr size_t kChains = 24;

}  // namespace

double ops_f32_fma_neon(size_t rounds) {
  float32x4_t a = vdupq_n_f32(0.5f);
  return chains<kChains>(rounds, vdupq_n_f32(0), 8,
                         [a](float32x4_t x) { return vfmaq_f32(a, x, a); });
}

// The level does not require the instruction, and its kernels do not use it.
double ops_bf16_dot_neon(size_t) { return 0; }

double ops_int8_dot_neon(size_t rounds) {
  int8x16_t a = vdupq_n_s8(1);
  return chains<kChains>(rounds, vdupq_n_s32(0), 32,
                         [a](int32x4_t x) { return vdotq_s32(x, a, a); });
}

double ops_int16_dot_neon(size_t rounds) {
  int16x4_t a = vdup_n_s16(1);
  return chains<kChains>(rounds, vdupq_n_s32(0), 8,
                         [a](int32x4_t x) { return vmlal_s16(x, a, a); });
}

uint64_t read_neon(const std::byte* p, size_t bytes) {
  uint64x2_t x[4] = {vdupq_n_u64(0), vdupq_n_u64(0), vdupq_n_u64(0), vdupq_n_u64(0)};
  read_streams(p, bytes, [&](const std::byte* q) {
    const auto* line = reinterpret_cast<const uint64_t*>(q);
    for (size_t k = 0; k < 4; ++k) x[k] = veorq_u64(x[k], vld1q_u64(line + 2 * k));
  });
  uint64x2_t all = veorq_u64(veorq_u64(x[0], x[1]), veorq_u64(x[2], x[3]));
  return vgetq_lane_u64(all, 0) ^ vgetq_lane_u64(all, 1);
}

}  // namespace hearth
