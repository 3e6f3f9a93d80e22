#include "kernels/sum/sum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/test_levels.h"

namespace hearth {
namespace {

constexpr float kPoison = -777.0f;

std::vector<float> vector_of(uint32_t n, double step) {
  std::vector<float> x(n);
  for (uint32_t i = 0; i < n; ++i) x[i] = static_cast<float>(1e3 * std::sin(step * (i + 1)));
  return x;
}

// The order of the additions matters: for a third of these numbers another order rounds otherwise.
TEST(SumTest, EveryTailInOneOrderAndInPlace) {
  for (uint32_t n = 0; n <= 70; ++n) {
    const std::vector<float> a = vector_of(n, 0.37), b = vector_of(n, 1.9), c = vector_of(n, 2.6);
    std::vector<float> two(n), three(n);
    for (uint32_t i = 0; i < n; ++i) {
      two[i] = a[i] + b[i];
      three[i] = a[i] + (b[i] + c[i]);
    }
    for (Isa isa : test_levels()) {
      SCOPED_TRACE(isa_name(isa));
      auto* add = kernels_for(isa).add_vectors;
      std::vector<float> out(n + 20, kPoison);
      add({a.data(), b.data(), nullptr, n, out.data()});
      EXPECT_EQ(std::vector<float>(out.begin(), out.begin() + n), two);
      for (uint32_t i = n; i < out.size(); ++i) EXPECT_EQ(out[i], kPoison);
      std::vector<float> over_a = a, over_b = b, over_c = c;
      add({over_a.data(), b.data(), c.data(), n, over_a.data()});
      add({a.data(), over_b.data(), c.data(), n, over_b.data()});
      add({a.data(), b.data(), over_c.data(), n, over_c.data()});
      EXPECT_EQ(over_a, three);
      EXPECT_EQ(over_b, three);
      EXPECT_EQ(over_c, three);
    }
  }
}

// These steps give (a + (b, then c added by fma)) + (d + e). Sums of one term and of no term
// follow.
TEST(SumTest, WeightedSumsInTheOrderOfTheirSteps) {
  constexpr uint32_t kWidth = 80;
  const float weights[] = {0.5f, -1.25f, 3.0f, 0.1f, 0.7f};
  const uint8_t steps[] = {0, 0, kOntoTop | 1, 0, 2};
  std::vector<std::vector<float>> terms;
  std::vector<const float*> pointers;
  for (double step : {0.37, 1.9, 2.6, 0.11, 3.3}) terms.push_back(vector_of(kWidth, step));
  for (const std::vector<float>& term : terms) pointers.push_back(term.data());
  std::vector<float> all(kWidth), one(kWidth);
  for (uint32_t i = 0; i < kWidth; ++i) {
    float left = weights[0] * terms[0][i];
    left += std::fma(weights[2], terms[2][i], weights[1] * terms[1][i]);
    all[i] = left + (weights[3] * terms[3][i] + weights[4] * terms[4][i]);
    one[i] = weights[0] * terms[0][i];
  }
  for (Isa isa : test_levels()) {
    SCOPED_TRACE(isa_name(isa));
    auto* sum = kernels_for(isa).weighted_sum;
    std::vector<float> out(kWidth + 16, kPoison);
    sum({pointers.data(), weights, steps, 5, kWidth, out.data()});
    EXPECT_EQ(std::vector<float>(out.begin(), out.begin() + kWidth), all);
    EXPECT_EQ(out[kWidth], kPoison);
    sum({pointers.data(), weights, steps, 1, kWidth, out.data()});
    EXPECT_EQ(std::vector<float>(out.begin(), out.begin() + kWidth), one);
    sum({nullptr, nullptr, nullptr, 0, kWidth, out.data()});
    EXPECT_EQ(std::vector<float>(out.begin(), out.begin() + kWidth), std::vector<float>(kWidth));
  }
}

}  // namespace
}  // namespace hearth
