#include "kernels/recurrent/short_conv.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/test_levels.h"

namespace hearth {
namespace {

constexpr float kPoison = -777.0f;

struct ConvProblem {
  uint32_t rows, channels, taps;
  size_t x_stride, weight_stride, state_stride, out_stride;
  std::vector<float> x, weight, state;

  ConvProblem(uint32_t row_count, uint32_t channel_count, uint32_t tap_count, uint32_t seed)
      : rows(row_count),
        channels(channel_count),
        taps(tap_count),
        x_stride(channel_count + 2),
        weight_stride(channel_count + 1),
        state_stride(channel_count + 3),
        out_stride(channel_count + 4) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (auto [to, count] :
         {std::pair{&x, rows * x_stride}, std::pair{&weight, taps * weight_stride},
          std::pair{&state, (taps - 1) * state_stride}}) {
      to->resize(count);
      for (float& f : *to) f = normal(random);
    }
  }

  ShortConvArgs args(uint32_t first, uint32_t count, const float* from, std::vector<float>& to,
                     std::vector<float>& out) const {
    return {.x = x.data() + first * x_stride,
            .x_stride = x_stride,
            .weight = weight.data(),
            .weight_stride = weight_stride,
            .rows = count,
            .channels = channels,
            .taps = taps,
            .from = from,
            .to = to.data(),
            .state_stride = state_stride,
            .out = out.data() + first * out_stride,
            .out_stride = out_stride};
  }

  // Returns the input `back` rows before row t, in binary64.
  double input(uint32_t t, uint32_t back, uint32_t c, bool from_zero) const {
    if (t >= back) return x[(t - back) * x_stride + c];
    return from_zero ? 0 : state[(t + taps - 1 - back) * state_stride + c];
  }
};

struct ConvResult {
  std::vector<float> out, state;

  explicit ConvResult(const ConvProblem& p)
      : out(p.rows * p.out_stride, kPoison), state(p.state.size() + 1, kPoison) {}
};

ConvResult run_conv(Isa isa, const ConvProblem& p, bool from_zero) {
  ConvResult result(p);
  const float* from = from_zero ? nullptr : p.state.data();
  kernels_for(isa).short_conv(p.args(0, p.rows, from, result.state, result.out));
  return result;
}

void expect_same_bits(const std::vector<float>& a, const std::vector<float>& b, Isa isa) {
  ASSERT_EQ(a.size(), b.size());
  ASSERT_EQ(0, std::memcmp(a.data(), b.data(), a.size() * sizeof(float))) << isa_name(isa);
}

// The chain rounds once for each product, by 2^-24 of the sum so far, which is at most the sum of
// the products' magnitudes. SiLU's slope is below 1.1 and its own error 4.9e-7.
void expect_near_truth(const ConvProblem& p, const ConvResult& result, bool from_zero) {
  for (uint32_t t = 0; t < p.rows; ++t) {
    for (uint32_t c = 0; c < p.channels; ++c) {
      double y = 0, size = 0;
      for (uint32_t j = 0; j < p.taps; ++j) {
        const double product = static_cast<double>(p.weight[j * p.weight_stride + c]) *
                               p.input(t, p.taps - 1 - j, c, from_zero);
        y += product;
        size += std::fabs(product);
      }
      const double truth = y / (1 + std::exp(-y));
      ASSERT_NEAR(result.out[t * p.out_stride + c], truth,
                  1.1 * p.taps * 0x1p-24 * size + 4.9e-7 * std::fabs(truth) + 1e-37)
          << "row " << t << " channel " << c;
    }
  }
  for (uint32_t back = 1; back < p.taps; ++back) {
    for (uint32_t c = 0; c < p.channels; ++c) {
      ASSERT_EQ(result.state[(p.taps - 1 - back) * p.state_stride + c],
                p.input(p.rows, back, c, from_zero));
    }
  }
}

TEST(ShortConvTest, IsNearTheTruthInTheSameBitsOnAllLevels) {
  for (uint32_t taps : {1u, 2u, 3u, 4u, 7u, kMaxConvTaps}) {
    for (uint32_t rows : {1u, 2u, 3u, 20u}) {
      for (uint32_t channels : {1u, 15u, 16u, 50u}) {
        const ConvProblem p(rows, channels, taps, taps * 100 + rows * 10 + channels);
        for (bool from_zero : {false, true}) {
          const ConvResult reference = run_conv(Isa::kReference, p, from_zero);
          ASSERT_NO_FATAL_FAILURE(expect_near_truth(p, reference, from_zero)) << taps;
          for (Isa isa : test_levels()) {
            const ConvResult result = run_conv(isa, p, from_zero);
            ASSERT_NO_FATAL_FAILURE(expect_same_bits(result.out, reference.out, isa));
            ASSERT_NO_FATAL_FAILURE(expect_same_bits(result.state, reference.state, isa));
          }
        }
      }
    }
  }
}

// The state is updated in place. Some runs are shorter than the taps, others longer.
TEST(ShortConvTest, RunsChangeNoBit) {
  for (uint32_t taps : {1u, 4u, kMaxConvTaps}) {
    const ConvProblem p(19, 37, taps, taps);
    for (Isa isa : test_levels()) {
      const ConvResult whole = run_conv(isa, p, true);
      for (uint32_t run : {1u, 2u, 5u, 18u}) {
        ConvResult cut(p);
        for (uint32_t t = 0; t < p.rows; t += run) {
          kernels_for(isa).short_conv(p.args(t, std::min(run, p.rows - t),
                                             t == 0 ? nullptr : cut.state.data(), cut.state,
                                             cut.out));
        }
        ASSERT_NO_FATAL_FAILURE(expect_same_bits(cut.out, whole.out, isa)) << run;
        ASSERT_NO_FATAL_FAILURE(expect_same_bits(cut.state, whole.state, isa)) << run;
      }
    }
  }
}

}  // namespace
}  // namespace hearth
