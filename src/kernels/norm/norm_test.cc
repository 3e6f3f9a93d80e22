#include "kernels/norm/norm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/test_levels.h"

namespace hearth {
namespace {

constexpr float kPoison = -777.0f;

std::vector<uint32_t> sizes() {
  std::vector<uint32_t> n(70);
  std::iota(n.begin(), n.end(), 1u);
  n.insert(n.end(), {127, 128, 2560, 4095});
  return n;
}

std::vector<float> waves(uint32_t n, double step, double size) {
  std::vector<float> x(n);
  for (uint32_t i = 0; i < n; ++i) x[i] = static_cast<float>(size * std::sin(step * (i + 1)));
  return x;
}

// Returns n outputs, and behind these some poison, which the kernel must not have overwritten.
std::vector<float> normed(Isa isa, const std::vector<float>& x, const std::vector<float>& weight,
                          float eps) {
  auto n = static_cast<uint32_t>(x.size());
  std::vector<float> out(n + 20, kPoison);
  kernels_for(isa).rms_norm({x.data(), weight.data(), n, eps, out.data()});
  for (uint32_t i = n; i < out.size(); ++i) EXPECT_EQ(out[i], kPoison);
  out.resize(n);
  return out;
}

// The sum of squares is off by at most n / 16 + 1 + 4 roundings, the mean and + eps by one each;
// the root halves the relative error so far. The root, its inverse and two products add one
// rounding each.
TEST(NormTest, AllLevelsGiveTheTruthInTheSameBits) {
  for (uint32_t n : sizes()) {
    for (double size : {1e-12, 1e-3, 1.0, 300.0, 1e17}) {
      std::vector<float> x = waves(n, 0.7, size), weight = waves(n, 1.3, 2.0);
      const float eps = 1e-5f;
      std::vector<float> reference = normed(Isa::kReference, x, weight, eps);
      double squares = 0;
      for (float f : x) squares += static_cast<double>(f) * f;
      double r = 1 / std::sqrt(squares / n + eps);
      double relative = ((n / 16 + 8) * 0.5 + 4) * 0x1p-24;
      for (uint32_t i = 0; i < n; ++i) {
        double truth = x[i] * r * weight[i];
        ASSERT_LE(std::fabs(reference[i] - truth), std::fabs(truth) * relative + 1e-37)
            << n << " " << size;
      }
      for (Isa isa : test_levels()) {
        std::vector<float> out = normed(isa, x, weight, eps);
        ASSERT_EQ(0, std::memcmp(out.data(), reference.data(), n * sizeof(float)))
            << isa_name(isa) << " " << n;
        std::vector<float> in_place = x;
        kernels_for(isa).rms_norm({in_place.data(), weight.data(), n, eps, in_place.data()});
        ASSERT_EQ(in_place, reference);
      }
    }
  }
}

// Returns x normed by a layer norm; `bias` may be empty.
std::vector<float> layer_normed(Isa isa, const std::vector<float>& x,
                                const std::vector<float>& weight, const std::vector<float>& bias,
                                float eps) {
  auto n = static_cast<uint32_t>(x.size());
  std::vector<float> out(n + 20, kPoison);
  const float* b = bias.empty() ? nullptr : bias.data();
  kernels_for(isa).layer_norm({x.data(), weight.data(), b, n, eps, out.data()});
  for (uint32_t i = n; i < out.size(); ++i) EXPECT_EQ(out[i], kPoison);
  out.resize(n);
  return out;
}

// The mean is off by at most n / 16 + 1 + 4 roundings of its sum and one more, each of the mean of
// |x|: `shift` in all. The mean of the squares around it is exactly shift^2 more than the variance.
// It has two roundings of d, n / 16 + 5 of the sum, one of the mean and one of + eps, and the root
// halves their relative error. The root, its inverse, d and two products add one rounding each, and
// the bias one of the result.
void expect_layer_norm(const std::vector<float>& out, const std::vector<float>& x,
                       const std::vector<float>& weight, const std::vector<float>& bias,
                       float eps) {
  const double u = 0x1p-24, second_order = 1.001;
  auto n = static_cast<uint32_t>(x.size());
  double mean = 0, size = 0, variance = 0;
  for (float f : x) mean += static_cast<double>(f) / n;
  for (float f : x) size += std::fabs(static_cast<double>(f)) / n;
  for (float f : x) variance += (f - mean) * (f - mean) / n;
  double r = 1 / std::sqrt(variance + eps), shift = (n / 16 + 6) * u * size * second_order;
  double relative = 0.5 * shift * shift * r * r + ((n / 16 + 9) * 0.5 + 5) * u;
  for (uint32_t i = 0; i < n; ++i) {
    double scaled = (x[i] - mean) * r * weight[i];
    double truth = scaled + (bias.empty() ? 0 : bias[i]);
    double slack = (shift * r * std::fabs(weight[i]) * (1 + relative) +
                    std::fabs(scaled) * relative + std::fabs(truth) * u) *
                   second_order;
    ASSERT_LE(std::fabs(out[i] - truth), slack + 1e-37) << n << " element " << i;
  }
}

void expect_same_layer_norms(const std::vector<float>& x, const std::vector<float>& weight,
                             const std::vector<float>& bias, float eps) {
  std::vector<float> reference = layer_normed(Isa::kReference, x, weight, bias, eps);
  ASSERT_NO_FATAL_FAILURE(expect_layer_norm(reference, x, weight, bias, eps));
  for (Isa isa : test_levels()) {
    std::vector<float> out = layer_normed(isa, x, weight, bias, eps);
    ASSERT_EQ(0, std::memcmp(out.data(), reference.data(), x.size() * sizeof(float)))
        << isa_name(isa) << " " << x.size();
    std::vector<float> in_place = x;
    kernels_for(isa).layer_norm({in_place.data(), weight.data(),
                                 bias.empty() ? nullptr : bias.data(),
                                 static_cast<uint32_t>(x.size()), eps, in_place.data()});
    ASSERT_EQ(in_place, reference);
  }
}

TEST(NormTest, LayerNormGivesTheTruthInTheSameBitsOnAllLevels) {
  for (uint32_t n : sizes()) {
    for (double size : {1e-12, 1e-3, 1.0, 300.0, 1e17}) {
      // The mean of a row is zero, about as large as the deviations, or far larger.
      for (double mean : {0.0, -0.7, 1000.0}) {
        std::vector<float> x = waves(n, 0.7, size);
        for (float& f : x) f += static_cast<float>(mean * size);
        std::vector<float> weight = waves(n, 1.3, 2.0), bias = waves(n, 0.3, 0.5);
        ASSERT_NO_FATAL_FAILURE(expect_same_layer_norms(x, weight, bias, 1e-5f)) << size;
        ASSERT_NO_FATAL_FAILURE(expect_same_layer_norms(x, weight, {}, 1e-5f)) << size;
      }
    }
  }
}

// Returns the norm of a row of `heads` heads.
std::vector<float> normed_by_heads(Isa isa, const std::vector<float>& x, uint32_t heads,
                                   const std::vector<float>& weight, const std::vector<float>& bias,
                                   float eps, bool centred) {
  const auto n = static_cast<uint32_t>(x.size()), length = n / heads;
  std::vector<HeadMoments> moments(heads + 1, {kPoison, kPoison});
  for (uint32_t h = 0; h < heads; ++h) {
    kernels_for(isa).head_moments({&x[size_t{h} * length], length, centred, &moments[h]});
  }
  EXPECT_EQ(moments[heads].mean, kPoison);
  const RowScale scale = row_scale_of(heads, length, eps, [&](uint32_t h) { return moments[h]; });
  std::vector<float> out(n + 20, kPoison);
  const float* b = bias.empty() ? nullptr : bias.data();
  kernels_for(isa).norm_by({x.data(), weight.data(), b, n, scale.mean, scale.r, out.data()});
  for (uint32_t i = n; i < out.size(); ++i) EXPECT_EQ(out[i], kPoison);
  std::vector<float> in_place = x;
  kernels_for(isa).norm_by(
      {in_place.data(), weight.data(), b, n, scale.mean, scale.r, in_place.data()});
  out.resize(n);
  EXPECT_EQ(0, std::memcmp(out.data(), in_place.data(), n * sizeof(float)));
  return out;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Returns waves around zero, or around a mean of another size.
std::vector<float> shifted_waves(uint32_t n, double size, double mean) {
  std::vector<float> x = waves(n, 0.7, size);
  for (float& f : x) f += static_cast<float>(mean * size);
  return x;
}

TEST(NormTest, NormOfOneHeadIsTheRowsNorm) {
  for (uint32_t n : sizes()) {
    for (double mean : {0.0, -0.7, 1000.0}) {
      const std::vector<float> x = shifted_waves(n, 3, mean);
      const std::vector<float> weight = waves(n, 1.3, 2.0), bias = waves(n, 0.3, 0.5);
      for (Isa isa : test_levels()) {
        EXPECT_TRUE(same_bits(normed_by_heads(isa, x, 1, weight, bias, 1e-5f, true),
                              layer_normed(isa, x, weight, bias, 1e-5f)));
        EXPECT_TRUE(same_bits(normed_by_heads(isa, x, 1, weight, {}, 1e-5f, true),
                              layer_normed(isa, x, weight, {}, 1e-5f)));
        EXPECT_TRUE(same_bits(normed_by_heads(isa, x, 1, weight, {}, 1e-5f, false),
                              normed(isa, x, weight, 1e-5f)))
            << isa_name(isa) << " " << n;
      }
    }
  }
}

// The bound of a layer norm of the row (expect_layer_norm) holds here, with these numbers of
// roundings: `heads` for the chain of the heads' means, and length / 16 + 6 for each of these
// means. The mean of the squares has as many, and the roundings of the squares themselves.
TEST(NormTest, NormOfManyHeadsIsExactInTheSameBitsOnAllLevels) {
  for (uint32_t heads : {2u, 5u, 48u}) {
    for (uint32_t length : {1u, 16u, 33u, 64u, 128u}) {
      for (double mean : {0.0, -0.7, 20.0}) {
        const uint32_t n = heads * length;
        const std::vector<float> x = shifted_waves(n, 3, mean);
        const std::vector<float> weight = waves(n, 1.3, 2.0), bias = waves(n, 0.3, 0.5);
        for (bool centred : {true, false}) {
          const std::vector<float> reference =
              normed_by_heads(Isa::kReference, x, heads, weight, bias, 1e-5f, centred);
          double middle = 0, squares = 0, size = 0;
          for (float f : x) middle += centred ? static_cast<double>(f) / n : 0;
          for (float f : x) squares += (f - middle) * (f - middle);
          for (float f : x) size += std::fabs(f) / n;
          const double r = 1 / std::sqrt(squares / n + 1e-5), u = 0x1p-24;
          const double roundings = heads + length / 16 + 12;
          for (uint32_t i = 0; i < n; ++i) {
            const double truth = (x[i] - middle) * r * weight[i] + bias[i];
            const double relative = roundings * u + std::pow(roundings * u * size * r, 2);
            const double slack = std::fabs(weight[i]) * r *
                                     (roundings * u * size + std::fabs(x[i] - middle) * relative) +
                                 std::fabs(truth) * u;
            ASSERT_LE(std::fabs(reference[i] - truth), 1.01 * slack) << heads << " of " << length;
          }
          for (Isa isa : test_levels()) {
            ASSERT_TRUE(
                same_bits(normed_by_heads(isa, x, heads, weight, bias, 1e-5f, centred), reference))
                << isa_name(isa) << " " << heads << " of " << length;
          }
        }
      }
    }
  }
}

TEST(NormTest, ZerosStayZeros) {
  for (Isa isa : test_levels()) {
    std::vector<float> zeros(50, 0.0f), ones(50, 1.0f);
    EXPECT_EQ(normed(isa, zeros, ones, 1e-6f), zeros);
    EXPECT_EQ(layer_normed(isa, zeros, ones, {}, 1e-6f), zeros);
    EXPECT_EQ(layer_normed(isa, zeros, ones, ones, 1e-6f), ones);
  }
}

// Returns numbers of either sign in turn, so that a mean is small.
std::vector<float> alternating(uint32_t n, float size) {
  std::vector<float> x(n, size);
  for (uint32_t i = 1; i < n; i += 2) x[i] = -size;
  return x;
}

bool all_nan(const std::vector<float>& row) {
  return std::all_of(row.begin(), row.end(), [](float f) { return std::isnan(f); });
}

// A row may overflow in a square, in the sum of a lane, or only in the sum of the lanes: a lane of
// three or four times 2e37 is finite, but the sum of 16 such lanes is not.
TEST(NormTest, ARowTooLargeToSquareIsNoNumber) {
  for (Isa isa : test_levels()) {
    std::vector<float> ones(50, 1.0f);
    for (float size : {1e30f, 1e19f, 4.5e18f}) {
      std::vector<float> huge = alternating(50, size);
      EXPECT_TRUE(all_nan(normed(isa, huge, ones, 1e-6f))) << isa_name(isa) << " " << size;
      EXPECT_TRUE(all_nan(layer_normed(isa, huge, ones, ones, 1e-6f))) << isa_name(isa) << size;
      EXPECT_TRUE(all_nan(layer_normed(isa, huge, ones, {}, 1e-6f))) << isa_name(isa) << size;
      EXPECT_TRUE(all_nan(normed_by_heads(isa, huge, 5, ones, {}, 1e-6f, true))) << size;
      EXPECT_TRUE(all_nan(normed_by_heads(isa, huge, 5, ones, {}, 1e-6f, false))) << size;
    }
    std::vector<float> one_huge(50, 1.0f);
    one_huge[49] = 1e30f;
    EXPECT_TRUE(all_nan(normed(isa, one_huge, ones, 1e-6f))) << isa_name(isa);
    EXPECT_TRUE(all_nan(layer_normed(isa, one_huge, ones, ones, 1e-6f))) << isa_name(isa);
    std::vector<float> large = alternating(50, 2e18f);
    for (float f : normed(isa, large, ones, 1e-6f)) EXPECT_NEAR(std::fabs(f), 1, 1e-5);
    for (float f : layer_normed(isa, large, ones, {}, 1e-6f)) EXPECT_NEAR(std::fabs(f), 1, 1e-5);
  }
}

TEST(NormTest, NonFiniteElementsMakeTheRowNan) {
  for (Isa isa : test_levels()) {
    for (float odd :
         {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      for (uint32_t at : {0u, 17u, 49u}) {
        std::vector<float> x(50, 1.0f), ones(50, 1.0f);
        x[at] = odd;
        EXPECT_TRUE(all_nan(normed(isa, x, ones, 1e-6f))) << isa_name(isa) << " " << at;
        EXPECT_TRUE(all_nan(layer_normed(isa, x, ones, ones, 1e-6f))) << isa_name(isa) << at;
        for (bool centred : {true, false}) {
          EXPECT_TRUE(all_nan(normed_by_heads(isa, x, 5, ones, ones, 1e-6f, centred)));
        }
      }
    }
  }
}

}  // namespace
}  // namespace hearth
