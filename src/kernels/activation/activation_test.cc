#include "kernels/activation/activation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/test_levels.h"

namespace hearth {
namespace {

constexpr float kPoison = -777.0f;

std::vector<float> silu_mul(Isa isa, const std::vector<float>& gate, const std::vector<float>& up) {
  auto n = static_cast<uint32_t>(gate.size());
  std::vector<float> out(n + 20, kPoison);
  kernels_for(isa).silu_mul({gate.data(), up.data(), n, out.data()});
  for (uint32_t i = n; i < out.size(); ++i) EXPECT_EQ(out[i], kPoison);
  out.resize(n);
  return out;
}

// exp has a relative error of 1.2e-7, which the sigmoid takes in at most twice (above and below the
// line for g < 0, where the two partly cancel); the sum, the quotient and two products round.
TEST(ActivationTest, AllLevelsGiveTheTruthInTheSameBits) {
  std::vector<float> gate, up;
  for (double g = -87; g < 120; g += 0.0037) {
    gate.push_back(static_cast<float>(g));
    up.push_back(static_cast<float>(3 * std::cos(11 * g)));
  }
  for (double g = 1; g > 1e-44; g /= 3) {
    gate.insert(gate.end(), {static_cast<float>(g), static_cast<float>(-g)});
    up.insert(up.end(), {1.0f, -1.0f});
  }
  std::vector<float> reference = silu_mul(Isa::kReference, gate, up);
  for (size_t i = 0; i < gate.size(); ++i) {
    double g = gate[i];
    double truth = g / (1 + std::exp(-g)) * up[i];
    ASSERT_LE(std::fabs(reference[i] - truth), std::fabs(truth) * 4.9e-7 + 3e-45) << g;
  }
  for (Isa isa : test_levels()) {
    std::vector<float> out = silu_mul(isa, gate, up);
    EXPECT_EQ(0, std::memcmp(out.data(), reference.data(), out.size() * sizeof(float)))
        << isa_name(isa);
  }
}

TEST(ActivationTest, EveryTailAndInPlace) {
  for (uint32_t n = 1; n <= 50; ++n) {
    std::vector<float> gate(n), up(n);
    for (uint32_t i = 0; i < n; ++i) {
      gate[i] = static_cast<float>(i) - 20.5f;
      up[i] = 1.0f / static_cast<float>(i + 1);
    }
    std::vector<float> reference = silu_mul(Isa::kReference, gate, up);
    for (Isa isa : test_levels()) {
      EXPECT_EQ(silu_mul(isa, gate, up), reference);
      std::vector<float> over_gate = gate, over_up = up;
      kernels_for(isa).silu_mul({over_gate.data(), up.data(), n, over_gate.data()});
      kernels_for(isa).silu_mul({gate.data(), over_up.data(), n, over_up.data()});
      EXPECT_EQ(over_gate, reference);
      EXPECT_EQ(over_up, reference);
    }
  }
}

TEST(ActivationTest, Ends) {
  for (Isa isa : test_levels()) {
    std::vector<float> gate = {-INFINITY, -1e30f, -88.0f, -0.0f, 0.0f, 17.0f, 1e30f, INFINITY, NAN};
    std::vector<float> out = silu_mul(isa, gate, std::vector<float>(gate.size(), 1.0f));
    for (size_t i = 0; i < 5; ++i) EXPECT_EQ(out[i], 0.0f) << isa_name(isa) << " " << gate[i];
    for (size_t i = 5; i < 8; ++i) EXPECT_EQ(out[i], gate[i]) << isa_name(isa);
    EXPECT_TRUE(std::isnan(out[8])) << isa_name(isa);
  }
}

}  // namespace
}  // namespace hearth
