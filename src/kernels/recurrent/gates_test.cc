#include "kernels/recurrent/gates.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/test_levels.h"

namespace hearth {
namespace {

constexpr float kPoison = -777.0f;

std::vector<float> normal_row(uint32_t n, float size, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, size);
  std::vector<float> row(n);
  for (float& f : row) f = normal(random);
  return row;
}

void expect_same_row(const std::vector<float>& a, const std::vector<float>& b, Isa isa) {
  ASSERT_EQ(0, std::memcmp(a.data(), b.data(), b.size() * sizeof(float))) << isa_name(isa);
  for (size_t i = b.size(); i < a.size(); ++i) ASSERT_EQ(a[i], kPoison) << isa_name(isa);
}

bool no_numbers(const std::vector<float>& row) {
  for (float f : row) {
    if (!std::isnan(f)) return false;
  }
  return true;
}

std::vector<float> unit_normed(Isa isa, const std::vector<float>& x, float eps) {
  std::vector<float> out = x;
  kernels_for(isa).unit_norm({out.data(), static_cast<uint32_t>(x.size()), eps, out.data()});
  return out;
}

// The sum of squares is off by at most n / 16 + 1 + 4 roundings, which a root halves; the root, its
// inverse and a product add one each.
TEST(GatesTest, AUnitNormIsNearTheTruthInTheSameBitsOnAllLevels) {
  for (uint32_t n = 1; n < 150; ++n) {
    for (float size : {1e-9f, 1e-3f, 1.0f, 1e15f}) {
      const std::vector<float> x = normal_row(n, size, n);
      const float eps = 1e-6f;
      const std::vector<float> reference = unit_normed(Isa::kReference, x, eps);
      double squares = 0;
      for (float f : x) squares += static_cast<double>(f) * f;
      const double r = 1 / std::max(std::sqrt(squares), static_cast<double>(eps));
      for (uint32_t i = 0; i < n; ++i) {
        const double slack = ((n / 16 + 5) * 0.5 + 3) * 0x1p-24;
        ASSERT_NEAR(reference[i], x[i] * r, std::fabs(x[i] * r) * slack + 1e-37) << n;
      }
      for (Isa isa : test_levels()) {
        std::vector<float> out(n + 20, kPoison);
        kernels_for(isa).unit_norm({x.data(), n, eps, out.data()});
        ASSERT_NO_FATAL_FAILURE(expect_same_row(out, reference, isa)) << n;
        ASSERT_NO_FATAL_FAILURE(expect_same_row(unit_normed(isa, x, eps), reference, isa)) << n;
      }
    }
  }
}

TEST(GatesTest, AUnitNormOfZerosIsZerosAndOfNoNumbersNone) {
  for (Isa isa : test_levels()) {
    const std::vector<float> zeros(40, 0.0f);
    EXPECT_EQ(unit_normed(isa, zeros, 1e-6f), zeros);
    for (float odd :
         {1e30f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      std::vector<float> x(40, 1.0f);
      x[37] = odd;
      EXPECT_TRUE(no_numbers(unit_normed(isa, x, 1e-6f))) << isa_name(isa) << " " << odd;
    }
  }
}

TEST(GatesTest, AGatedNormIsANormAndThenAGate) {
  for (uint32_t n : {1u, 7u, 16u, 31u, 128u, 130u}) {
    const std::vector<float> x = normal_row(n, 2, n), weight = normal_row(n, 1, n + 1),
                             gate = normal_row(n, 5, n + 2);
    for (Isa isa : test_levels()) {
      const Kernels& kernels = kernels_for(isa);
      std::vector<float> expected(n), out(n + 20, kPoison);
      kernels.rms_norm({x.data(), weight.data(), n, 1e-6f, expected.data()});
      kernels.silu_mul({gate.data(), expected.data(), n, expected.data()});
      kernels.gated_norm({x.data(), weight.data(), gate.data(), n, 1e-6f, out.data()});
      ASSERT_NO_FATAL_FAILURE(expect_same_row(out, expected, isa)) << n;
      std::vector<float> over_x = x, over_gate = gate;
      kernels.gated_norm({over_x.data(), weight.data(), gate.data(), n, 1e-6f, over_x.data()});
      ASSERT_NO_FATAL_FAILURE(expect_same_row(over_x, expected, isa)) << n;
      kernels.gated_norm({x.data(), weight.data(), over_gate.data(), n, 1e-6f, over_gate.data()});
      ASSERT_NO_FATAL_FAILURE(expect_same_row(over_gate, expected, isa)) << n;
      std::vector<float> huge(n, 1e30f);
      kernels.gated_norm({huge.data(), weight.data(), gate.data(), n, 1e-6f, huge.data()});
      EXPECT_TRUE(no_numbers(huge)) << isa_name(isa);
    }
  }
}

// Returns numbers from -120 to 120, and numbers of all sizes with both signs; some are at every
// level's tail.
std::vector<float> gate_arguments() {
  std::vector<float> x;
  for (double g = -120; g < 120; g += 0.00371) x.push_back(static_cast<float>(g));
  for (double g = 1; g > 1e-44; g /= 1.7) {
    x.insert(x.end(), {static_cast<float>(g), static_cast<float>(-g)});
  }
  x.resize(x.size() / 16 * 16 + 5);
  return x;
}

// The error is at most that of the sigmoid, 2.5e-7, and one rounding.
TEST(GatesTest, ASigmoidTimesIsNearTheTruthInTheSameBitsOnAllLevels) {
  const std::vector<float> gate = gate_arguments();
  const auto n = static_cast<uint32_t>(gate.size());
  const std::vector<float> x = normal_row(n, 3, 1);
  std::vector<float> reference(n);
  kernels_for(Isa::kReference).sigmoid_mul({x.data(), gate.data(), n, reference.data()});
  for (uint32_t i = 0; i < n; ++i) {
    const double truth = x[i] / (1 + std::exp(-static_cast<double>(gate[i])));
    ASSERT_NEAR(reference[i], truth, std::fabs(truth) * 3.2e-7 + std::fabs(x[i]) * 1.2e-38)
        << gate[i];
  }
  for (Isa isa : test_levels()) {
    std::vector<float> out(n + 20, kPoison), over_x = x, over_gate = gate;
    kernels_for(isa).sigmoid_mul({x.data(), gate.data(), n, out.data()});
    kernels_for(isa).sigmoid_mul({over_x.data(), gate.data(), n, over_x.data()});
    kernels_for(isa).sigmoid_mul({x.data(), over_gate.data(), n, over_gate.data()});
    ASSERT_NO_FATAL_FAILURE(expect_same_row(out, reference, isa));
    ASSERT_NO_FATAL_FAILURE(expect_same_row(over_x, reference, isa));
    ASSERT_NO_FATAL_FAILURE(expect_same_row(over_gate, reference, isa));
  }
}

struct GateRow {
  std::vector<float> decay, strength;
};

GateRow delta_gates(Isa isa, const std::vector<float>& alpha, const std::vector<float>& bias,
                    const std::vector<float>& rate, const std::vector<float>& beta) {
  const size_t n = alpha.size();
  GateRow row{std::vector<float>(n + 20, kPoison), std::vector<float>(n + 20, kPoison)};
  kernels_for(isa).delta_gates({alpha.data(), bias.data(), rate.data(), beta.data(),
                                static_cast<uint32_t>(n), row.decay.data(), row.strength.data()});
  return row;
}

TEST(GatesTest, DecayAndStrengthAreNearTheTruthInTheSameBitsOnAllLevels) {
  const std::vector<float> alpha = gate_arguments();
  const size_t n = alpha.size();
  for (float rate : {-0.0f, -1e-3f, -1.0f, -16.0f}) {
    const std::vector<float> bias(n, rate == -1.0f ? 0.37f : 0.0f), rates(n, rate);
    const GateRow reference = delta_gates(Isa::kReference, alpha, bias, rates, alpha);
    for (size_t i = 0; i < n; ++i) {
      const double x = alpha[i] + bias[i];  // rounded, as the contract has it
      const double softplus = std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
      const double log_decay = rate * softplus, decay = std::exp(log_decay);
      ASSERT_NEAR(reference.decay[i], decay,
                  decay * (1.3e-7 + 5e-7 * std::fabs(log_decay)) + 1.2e-38)
          << alpha[i] << " " << rate;
      const double strength = 1 / (1 + std::exp(-static_cast<double>(alpha[i])));
      ASSERT_NEAR(reference.strength[i], strength, strength * 2.5e-7 + 1.2e-38) << alpha[i];
    }
    for (Isa isa : test_levels()) {
      GateRow row = delta_gates(isa, alpha, bias, rates, alpha);
      for (size_t i = n; i < n + 20; ++i) ASSERT_EQ(row.decay[i], kPoison);
      ASSERT_EQ(row.decay, reference.decay) << isa_name(isa);
      ASSERT_EQ(row.strength, reference.strength) << isa_name(isa);
    }
  }
}

// Far below zero the softplus is about exp(x), too small to change a decay of usual rates. The rate
// -exp(-x) makes rate * softplus about -1 and the decay about 1/e, so an error of the softplus
// shows in the decay.
TEST(GatesTest, ASoftplusKeepsItsRelativeErrorFarBelowZero) {
  std::vector<float> alpha, rate;
  for (double x = -80; x < -4; x += 0.0917) {
    alpha.push_back(static_cast<float>(x));
    rate.push_back(static_cast<float>(-std::exp(-x)));
  }
  const std::vector<float> bias(alpha.size(), 0.0f);
  for (Isa isa : test_levels()) {
    const GateRow row = delta_gates(isa, alpha, bias, rate, alpha);
    for (size_t i = 0; i < alpha.size(); ++i) {
      const double x = alpha[i], truth = std::exp(rate[i] * std::log1p(std::exp(x)));
      ASSERT_NEAR(row.decay[i], truth, truth * 6.3e-7) << isa_name(isa) << " " << x;
    }
  }
}

TEST(GatesTest, EndsOfTheGates) {
  const float inf = std::numeric_limits<float>::infinity(), nan = NAN;
  for (Isa isa : test_levels()) {
    const GateRow row = delta_gates(isa, {-inf, inf, nan, 1e30f}, {0, 0, 0, 0}, {-1, -1, -1, -1},
                                    {-inf, inf, nan, 17});
    EXPECT_EQ(row.decay[0], 1.0f);
    EXPECT_EQ(row.decay[1], 0.0f);
    EXPECT_TRUE(std::isnan(row.decay[2]));
    EXPECT_EQ(row.decay[3], 0.0f);
    EXPECT_EQ(row.strength[0], 0.0f);
    EXPECT_EQ(row.strength[1], 1.0f);
    EXPECT_TRUE(std::isnan(row.strength[2]));
    EXPECT_EQ(row.strength[3], 1.0f);
  }
}

}  // namespace
}  // namespace hearth
