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

// The order of the additions shows: of a third of these numbers another one rounds otherwise.
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
      AddVectorsFn add = kernels_for(isa).add_vectors;
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

}  // namespace
}  // namespace hearth
