#include "kernels/maximum/maximum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/test_levels.h"

namespace hearth {
namespace {

constexpr float kPoison = -777.0f;

std::vector<float> noise(uint32_t panels, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> x(panels * 16);
  for (float& f : x) f = static_cast<float>(random()) * 0x1p-28f - 12.0f;
  return x;
}

// Returns a maximum for every panel, and behind these some poison, which the kernel must not have
// overwritten.
std::vector<float> maxima(Isa isa, const std::vector<float>& x) {
  auto panels = static_cast<uint32_t>(x.size() / 16);
  std::vector<float> out(panels + 3, kPoison);
  kernels_for(isa).panel_maxima({x.data(), panels, out.data()});
  for (uint32_t p = panels; p < out.size(); ++p) EXPECT_EQ(out[p], kPoison);
  out.resize(panels);
  return out;
}

TEST(MaximumTest, TheLargestOfEveryPanelWhereverItStands) {
  for (uint32_t panels : {0u, 1u, 2u, 7u, 8u, 33u}) {
    for (uint32_t lane = 0; lane < 16; ++lane) {
      std::vector<float> x = noise(panels, panels * 16 + lane), expected(panels);
      for (uint32_t p = 0; p < panels; ++p) {
        x[p * 16 + lane] += 6;
        expected[p] = *std::max_element(&x[p * 16], &x[p * 16] + 16);
      }
      for (Isa isa : test_levels()) EXPECT_EQ(maxima(isa, x), expected) << isa_name(isa) << panels;
    }
  }
}

TEST(MaximumTest, ExtremesAreNumbers) {
  float most = std::numeric_limits<float>::max();
  for (float f : {most, -most, std::numeric_limits<float>::denorm_min(), -0.0f}) {
    std::vector<float> x(32, f);
    for (Isa isa : test_levels())
      EXPECT_EQ(maxima(isa, x), std::vector<float>(2, f)) << isa_name(isa);
  }
}

TEST(MaximumTest, NonFiniteElementsShowInTheirPanelOnly) {
  for (float bad : {NAN, -NAN, INFINITY, -INFINITY}) {
    for (uint32_t at = 0; at < 48; ++at) {
      std::vector<float> x = noise(3, at);
      x[at] = bad;
      for (Isa isa : test_levels()) {
        std::vector<float> out = maxima(isa, x);
        for (uint32_t p = 0; p < 3; ++p) {
          EXPECT_EQ(std::isnan(out[p]), p == at / 16) << isa_name(isa) << " " << bad << " " << at;
        }
      }
    }
  }
}

}  // namespace
}  // namespace hearth
