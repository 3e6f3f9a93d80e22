#include "kernels/norm/norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "kernels/kernels.h"

namespace hearth {
namespace {

constexpr float kPoison = -777.0f;

std::vector<Isa> levels() { return available_isas(detect_cpu_features()); }

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

// n outputs, then poison that must stay.
std::vector<float> normed(Isa isa, const std::vector<float>& x, const std::vector<float>& weight,
                          float eps) {
  auto n = static_cast<uint32_t>(x.size());
  std::vector<float> out(n + 20, kPoison);
  kernels_for(isa).rms_norm({x.data(), weight.data(), n, eps, out.data()});
  for (uint32_t i = n; i < out.size(); ++i) EXPECT_EQ(out[i], kPoison);
  out.resize(n);
  return out;
}

// The sum of squares is off by at most n / 16 + 1 + 4 roundings, the mean and + eps by one each; a
// root halves that; the root, its inverse and two products add one each.
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
      for (Isa isa : levels()) {
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

TEST(NormTest, ZerosStayZeros) {
  for (Isa isa : levels()) {
    std::vector<float> zeros(50, 0.0f), ones(50, 1.0f);
    EXPECT_EQ(normed(isa, zeros, ones, 1e-6f), zeros);
  }
}

TEST(NormTest, ARowTooLargeToSquareGivesZeros) {
  for (Isa isa : levels()) {
    std::vector<float> huge(50, 1e30f), ones(50, 1.0f);
    EXPECT_EQ(normed(isa, huge, ones, 1e-6f), std::vector<float>(50, 0.0f));
  }
}

}  // namespace
}  // namespace hearth
