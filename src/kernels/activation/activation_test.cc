#include "kernels/activation/activation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/test_levels.h"

namespace hearth {
namespace {

constexpr float kPoison = -777.0f;

// A pointer to a member of Kernels that computes a form of SwiGLU.
using SwigluKernel = decltype(&Kernels::silu_mul);

std::vector<float> silu_mul(Isa isa, const std::vector<float>& gate, const std::vector<float>& up,
                            SwigluKernel kernel = &Kernels::silu_mul) {
  auto n = static_cast<uint32_t>(gate.size());
  std::vector<float> out(n + 20, kPoison);
  (kernels_for(isa).*kernel)({gate.data(), up.data(), n, out.data()});
  for (uint32_t i = n; i < out.size(); ++i) EXPECT_EQ(out[i], kPoison);
  out.resize(n);
  return out;
}

// exp has a relative error of 1.2e-7. The sigmoid has at most twice that: for g < 0 exp is in the
// numerator and in the denominator, where the errors partly cancel. The sum, the quotient and two
// products round.
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

void expect_every_tail_of_swiglu(SwigluKernel kernel) {
  for (uint32_t n = 1; n <= 50; ++n) {
    std::vector<float> gate(n), up(n);
    for (uint32_t i = 0; i < n; ++i) {
      gate[i] = static_cast<float>(i) - 20.5f;
      up[i] = 1.0f / static_cast<float>(i + 1);
    }
    std::vector<float> reference = silu_mul(Isa::kReference, gate, up, kernel);
    for (Isa isa : test_levels()) {
      EXPECT_EQ(silu_mul(isa, gate, up, kernel), reference);
      std::vector<float> over_gate = gate, over_up = up;
      (kernels_for(isa).*kernel)({over_gate.data(), up.data(), n, over_gate.data()});
      (kernels_for(isa).*kernel)({gate.data(), over_up.data(), n, over_up.data()});
      EXPECT_EQ(over_gate, reference);
      EXPECT_EQ(over_up, reference);
    }
  }
}

TEST(ActivationTest, EveryTailAndInPlace) {
  expect_every_tail_of_swiglu(&Kernels::silu_mul);
  expect_every_tail_of_swiglu(&Kernels::clamped_swiglu);
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

double true_clamped_swiglu(double gate, double up) {
  const double g = std::min(gate, 7.0), u = std::clamp(up, -7.0, 7.0);
  return g / (1 + std::exp(-double{kSwigluAlpha} * g)) * (u + 1);
}

// The bound is that of SwiGLU with two more roundings. t rounds by 2^-24 of itself, which changes
// the sigmoid by the share |t| (1 - sigmoid) of that; u + 1 rounds by 2^-24 of itself.
TEST(ActivationTest, SwigluWithLimitsIsNearTheTruthInTheSameBits) {
  std::vector<float> gate, up;
  for (double g = -51; g < 20; g += 0.0037) {
    gate.push_back(static_cast<float>(g));
    up.push_back(static_cast<float>(11 * std::cos(11 * g)));
  }
  for (double g = 1; g > 1e-44; g /= 3) {
    gate.insert(gate.end(), {static_cast<float>(g), static_cast<float>(-g)});
    up.insert(up.end(), {1.0f, static_cast<float>(-1 + g)});
  }
  std::vector<float> reference = silu_mul(Isa::kReference, gate, up, &Kernels::clamped_swiglu);
  for (size_t i = 0; i < gate.size(); ++i) {
    const double truth = true_clamped_swiglu(gate[i], up[i]);
    const double t = kSwigluAlpha * std::min(double{gate[i]}, 7.0);
    const double relative = 5.5e-7 + 6e-8 * std::fabs(t) / (1 + std::exp(t));
    ASSERT_LE(std::fabs(reference[i] - truth), std::fabs(truth) * relative + 3e-45) << gate[i];
  }
  for (Isa isa : test_levels()) {
    std::vector<float> out = silu_mul(isa, gate, up, &Kernels::clamped_swiglu);
    EXPECT_EQ(0, std::memcmp(out.data(), reference.data(), out.size() * sizeof(float)))
        << isa_name(isa);
  }
}

TEST(ActivationTest, EndsOfSwigluWithLimits) {
  const auto kernel = &Kernels::clamped_swiglu;
  for (Isa isa : test_levels()) {
    SCOPED_TRACE(isa_name(isa));
    const std::vector<float> gate = {-INFINITY, -1e30f, -88.0f, -0.0f, 0.0f};
    for (float x : silu_mul(isa, gate, std::vector<float>(gate.size(), 2.0f), kernel)) {
      EXPECT_EQ(x, 0.0f);
    }
    // These inputs are equal to the limits or beyond them.
    const std::vector<float> high = {7.0f, 7.5f, 1e30f, INFINITY}, low = {-7.0f, -8.0f, -INFINITY};
    for (float x : silu_mul(isa, high, high, kernel)) {
      EXPECT_EQ(x, silu_mul(isa, {7.0f}, {7.0f}, kernel)[0]);
      EXPECT_NEAR(x, 56.0f, 1e-3f);
    }
    for (float x : silu_mul(isa, {7.0f, 7.0f, 7.0f}, low, kernel)) EXPECT_NEAR(x, -42.0f, 1e-3f);
    const std::vector<float> none = silu_mul(isa, {NAN, 1.0f, NAN}, {1.0f, NAN, NAN}, kernel);
    for (float x : none) EXPECT_TRUE(std::isnan(x));
  }
}

double true_gelu(double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }

// Returns the argument of the sigmoid in GELU by tanh.
double true_tanh_argument(double x) {
  return 2 * std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x);
}
double true_gelu_tanh(double x) { return x / (1 + std::exp(-true_tanh_argument(x))); }

// A pointer to a member of Kernels that computes a form of GELU.
using GeluKernel = decltype(&Kernels::gelu);

std::vector<float> gelu(Isa isa, const std::vector<float>& x, const float* bias, const float* up,
                        GeluKernel kernel = &Kernels::gelu) {
  auto n = static_cast<uint32_t>(x.size());
  std::vector<float> out(n + 20, kPoison);
  (kernels_for(isa).*kernel)({x.data(), bias, up, n, out.data()});
  for (uint32_t i = n; i < out.size(); ++i) EXPECT_EQ(out[i], kPoison);
  out.resize(n);
  return out;
}

// Returns numbers from -14 to 14, and numbers of all sizes with both signs.
std::vector<float> gelu_arguments() {
  std::vector<float> x;
  for (double g = -14; g < 14; g += 0.000113) x.push_back(static_cast<float>(g));
  for (double g = 1; g > 1e-44; g /= 1.7) {
    x.insert(x.end(), {static_cast<float>(g), static_cast<float>(-g)});
  }
  return x;
}

// The tail Q is off by less than 1e-7 (kernels/activation/gelu.h), and the sum rounds, by 2^-24 of
// the result: at most 0.6e-7 |g| where Q is near 0, and half of that where Q is near 1 / 2. The
// relative error of a result below 0 is that of Q, 1.2e-7 + 1.7e-7 |ln Q|, and the rounding.
TEST(ActivationTest, GeluIsNearErfInTheSameBits) {
  const std::vector<float> x = gelu_arguments();
  const std::vector<float> reference = gelu(Isa::kReference, x, nullptr, nullptr);
  for (size_t i = 0; i < x.size(); ++i) {
    const double g = x[i], truth = true_gelu(g), error = std::fabs(reference[i] - truth);
    ASSERT_LE(error, 1.4e-7 * std::fabs(g) + 3e-45) << g;
    if (g < 0 && g >= -5.5) {
      ASSERT_LE(error, 3.4e-6 * std::fabs(truth) + 3e-45) << g;
    }
    if (g < 0 && g >= -1) {
      ASSERT_LE(error, 5e-7 * std::fabs(truth) + 3e-45) << g;
    }
    if (g < -5.5) {
      ASSERT_EQ(reference[i], 0.0f);
    }
    if (g >= 5.5) {
      ASSERT_EQ(reference[i], x[i]);
    }
  }
  for (Isa isa : test_levels()) {
    const std::vector<float> out = gelu(isa, x, nullptr, nullptr);
    EXPECT_EQ(0, std::memcmp(out.data(), reference.data(), out.size() * sizeof(float)))
        << isa_name(isa);
  }
}

// The argument t is off by at most 4 x 2^-24 of itself: 2 of these come from the rounded constants
// and the square, 2 from the roundings of the slope and of the product. That changes the sigmoid by
// the share |t| (1 - sigmoid) of it: at most |t| below 0, and at most 0.28 above. exp adds 1.2e-7
// (1 - sigmoid); the sum, the quotient and the product round.
TEST(ActivationTest, GeluByTanhIsNearTheTruthInTheSameBits) {
  const std::vector<float> x = gelu_arguments();
  const std::vector<float> reference =
      gelu(Isa::kReference, x, nullptr, nullptr, &Kernels::gelu_tanh);
  for (size_t i = 0; i < x.size(); ++i) {
    const double g = x[i], truth = true_gelu_tanh(g), error = std::fabs(reference[i] - truth);
    const double t = true_tanh_argument(g);
    ASSERT_LE(error, 2.4e-7 * std::fabs(g) + 3e-45) << g;
    if (g < 0 && t > -87.33) {
      ASSERT_LE(error, (3.2e-7 - 2.4e-7 * t) * std::fabs(truth) + 3e-45) << g;
    }
    if (t < -87.34) {
      ASSERT_EQ(reference[i], 0.0f);
    }
    if (g >= 5.1) {
      ASSERT_EQ(reference[i], x[i]);
    }
  }
  for (Isa isa : test_levels()) {
    const std::vector<float> out = gelu(isa, x, nullptr, nullptr, &Kernels::gelu_tanh);
    EXPECT_EQ(0, std::memcmp(out.data(), reference.data(), out.size() * sizeof(float)))
        << isa_name(isa);
  }
}

// Expects the reference's bits at all lengths, in place or not. Adding a bias and multiplying by
// `up` must each give the bits of one rounding.
void expect_every_tail(GeluKernel kernel) {
  for (uint32_t n = 1; n <= 50; ++n) {
    std::vector<float> x(n), bias(n), up(n), sums(n);
    for (uint32_t i = 0; i < n; ++i) {
      x[i] = 0.37f * static_cast<float>(i) - 6.5f;
      bias[i] = 0.1f * static_cast<float>(i % 7);
      up[i] = 1.0f / static_cast<float>(i + 1);
      sums[i] = x[i] + bias[i];
    }
    const std::vector<float> plain = gelu(Isa::kReference, x, nullptr, nullptr, kernel);
    const std::vector<float> biased = gelu(Isa::kReference, sums, nullptr, nullptr, kernel);
    std::vector<float> times = plain, both = biased;
    for (uint32_t i = 0; i < n; ++i) {
      times[i] *= up[i];
      both[i] *= up[i];
    }
    for (Isa isa : test_levels()) {
      EXPECT_EQ(gelu(isa, x, nullptr, nullptr, kernel), plain);
      EXPECT_EQ(gelu(isa, x, bias.data(), nullptr, kernel), biased);
      EXPECT_EQ(gelu(isa, x, nullptr, up.data(), kernel), times);
      EXPECT_EQ(gelu(isa, x, bias.data(), up.data(), kernel), both);
      std::vector<float> over_x = x, over_up = up;
      (kernels_for(isa).*kernel)({over_x.data(), bias.data(), up.data(), n, over_x.data()});
      (kernels_for(isa).*kernel)({x.data(), bias.data(), over_up.data(), n, over_up.data()});
      EXPECT_EQ(over_x, both);
      EXPECT_EQ(over_up, both);
    }
  }
}

TEST(ActivationTest, GelusOfEveryTailWithBiasAndFactor) {
  expect_every_tail(&Kernels::gelu);
  expect_every_tail(&Kernels::gelu_tanh);
}

void expect_ends(GeluKernel kernel, float zero, float own) {
  for (Isa isa : test_levels()) {
    const std::vector<float> x = {-INFINITY, -3e38f, zero,  -0.0f,    0.0f,
                                  own,       6.0f,   3e38f, INFINITY, NAN};
    const std::vector<float> out = gelu(isa, x, nullptr, nullptr, kernel);
    for (size_t i = 0; i < 5; ++i) EXPECT_EQ(out[i], 0.0f) << isa_name(isa) << " " << x[i];
    for (size_t i = 5; i < 9; ++i) EXPECT_EQ(out[i], x[i]) << isa_name(isa);
    EXPECT_TRUE(std::isnan(out[9])) << isa_name(isa);
  }
}

TEST(ActivationTest, GeluEnds) {
  expect_ends(&Kernels::gelu, -5.6f, 5.5f);
  expect_ends(&Kernels::gelu_tanh, -10.1f, 5.1f);
}

std::vector<float> soft_cap(Isa isa, const std::vector<float>& x, float cap) {
  auto n = static_cast<uint32_t>(x.size());
  std::vector<float> out(n + 20, kPoison);
  kernels_for(isa).soft_cap({x.data(), n, cap, out.data()});
  for (uint32_t i = n; i < out.size(); ++i) EXPECT_EQ(out[i], kPoison);
  out.resize(n);
  return out;
}

// The sigmoid, 1 at most, is off by 2.5e-7 of itself. The argument t is off by 2^-23 of itself,
// which changes the sigmoid by |t| times its slope, 0.23 at most, times 2^-23. Both errors count 2
// cap times. The sum rounds by 2^-24 cap.
TEST(ActivationTest, SoftCapsAreNearTheTruthInTheSameBits) {
  for (float cap : {30.0f, 50.0f, 0.37f}) {
    std::vector<float> x;
    for (double t = -9; t < 9; t += 0.00037) x.push_back(static_cast<float>(cap * t));
    for (double t = 1; t > 1e-44; t /= 3) x.push_back(static_cast<float>(-t));
    const std::vector<float> reference = soft_cap(Isa::kReference, x, cap);
    for (size_t i = 0; i < x.size(); ++i) {
      const double truth = double{cap} * std::tanh(double{x[i]} / cap);
      ASSERT_LE(std::fabs(reference[i] - truth), 6.2e-7 * cap) << x[i];
    }
    for (Isa isa : test_levels()) {
      const std::vector<float> out = soft_cap(isa, x, cap);
      EXPECT_EQ(0, std::memcmp(out.data(), reference.data(), out.size() * sizeof(float)))
          << isa_name(isa);
      for (size_t n = 1; n <= 50; ++n) {
        std::vector<float> some(x.begin(), x.begin() + static_cast<ptrdiff_t>(n));
        const std::vector<float> capped = soft_cap(isa, some, cap);
        EXPECT_TRUE(std::equal(capped.begin(), capped.end(), reference.begin()));
        kernels_for(isa).soft_cap({some.data(), static_cast<uint32_t>(n), cap, some.data()});
        EXPECT_EQ(some, capped);
      }
      const std::vector<float> ends = soft_cap(isa, {-INFINITY, 0.0f, INFINITY, NAN}, cap);
      EXPECT_EQ(ends[0], -cap);
      EXPECT_EQ(ends[1], 0.0f);
      EXPECT_EQ(ends[2], cap);
      EXPECT_TRUE(std::isnan(ends[3]));
    }
  }
}

}  // namespace
}  // namespace hearth
