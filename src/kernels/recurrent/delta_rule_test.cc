#include "kernels/recurrent/delta_rule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/test_levels.h"

namespace hearth {
namespace {

constexpr float kPoison = -777.0f;

// Rows of one head, with numbers like those of a layer: keys of 2-norm 1, queries and values of
// some size.
struct RuleProblem {
  uint32_t rows, length, columns;
  size_t key_stride, value_stride, gate_stride = 3;
  float scale;
  std::vector<float> q, k, v, decay, beta, state;

  RuleProblem(uint32_t row_count, uint32_t head_length, uint32_t column_count, uint32_t seed)
      : rows(row_count),
        length(head_length),
        columns(column_count),
        key_stride(head_length + 5),
        value_stride(column_count + 3),
        scale(1 / std::sqrt(static_cast<float>(head_length))) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::uniform_real_distribution<float> part(0, 1);
    auto draw = [&](std::vector<float>& to, size_t count) {
      to.resize(count);
      for (float& f : to) f = normal(random);
    };
    draw(q, rows * key_stride);
    draw(k, rows * key_stride);
    draw(v, rows * value_stride);
    draw(state, delta_state_floats(length, columns));
    for (uint32_t t = 0; t < rows; ++t) {
      float squares = 0;
      for (uint32_t i = 0; i < length; ++i) squares += std::pow(k[t * key_stride + i], 2.0f);
      for (uint32_t i = 0; i < length; ++i) k[t * key_stride + i] /= std::sqrt(squares);
    }
    for (uint32_t i = 0; i < rows * gate_stride; ++i) {
      decay.push_back(i % 7 == 0 ? part(random) : 1 - 0.1f * part(random));
      beta.push_back(part(random));
    }
  }

  // Returns the call for the rows from `first` on, and the columns from `column` on, which is at a
  // tile's start.
  DeltaRuleArgs args(uint32_t first, uint32_t count, uint32_t column, uint32_t width,
                     const float* from, std::vector<float>& to, std::vector<float>& out) const {
    const size_t tiles = column * size_t{length};
    return {.q = q.data() + first * key_stride,
            .k = k.data() + first * key_stride,
            .key_stride = key_stride,
            .v = v.data() + first * value_stride + column,
            .value_stride = value_stride,
            .decay = decay.data() + first * gate_stride,
            .beta = beta.data() + first * gate_stride,
            .gate_stride = gate_stride,
            .rows = count,
            .length = length,
            .columns = width,
            .scale = scale,
            .from = from == nullptr ? nullptr : from + tiles,
            .to = to.data() + tiles,
            .out = out.data() + first * value_stride + column,
            .out_stride = value_stride};
  }
};

struct RuleResult {
  std::vector<float> out, state;

  explicit RuleResult(const RuleProblem& p)
      : out(p.rows * p.value_stride + 20, kPoison), state(p.state.size() + 20, kPoison) {}
};

RuleResult run_rule(Isa isa, const RuleProblem& p, bool from_zero = false) {
  RuleResult result(p);
  const float* from = from_zero ? nullptr : p.state.data();
  kernels_for(isa).delta_rule(p.args(0, p.rows, 0, p.columns, from, result.state, result.out));
  return result;
}

// Expects the same bits in outputs and states, except for the padding of a state's last tile.
void expect_same(const RuleProblem& p, const RuleResult& a, const RuleResult& b, Isa isa) {
  ASSERT_EQ(0, std::memcmp(a.out.data(), b.out.data(), a.out.size() * sizeof(float)))
      << isa_name(isa) << " " << p.length << " x " << p.columns;
  for (uint32_t c = 0; c < p.columns; ++c) {
    for (uint32_t i = 0; i < p.length; ++i) {
      const size_t at = (c / kStateTile * p.length + i) * kStateTile + c % kStateTile;
      ASSERT_EQ(a.state[at], b.state[at]) << isa_name(isa) << " row " << i << " column " << c;
    }
  }
  for (size_t i = p.state.size(); i < a.state.size(); ++i) ASSERT_EQ(a.state[i], kPoison);
}

// Returns the outputs of one column by the rule of the paper, in binary64. `worst` becomes the
// largest |S| and |v| that occur.
std::vector<double> true_column(const RuleProblem& p, uint32_t c, bool from_zero,
                                std::vector<double>& s, double& worst) {
  s.assign(p.length, 0);
  for (uint32_t i = 0; i < p.length && !from_zero; ++i) {
    s[i] = p.state[(c / kStateTile * p.length + i) * kStateTile + c % kStateTile];
  }
  std::vector<double> out;
  for (uint32_t t = 0; t < p.rows; ++t) {
    const float *k = &p.k[t * p.key_stride], *q = &p.q[t * p.key_stride];
    double recalled = 0, sum = 0, size = 0;
    for (double& x : s) x *= p.decay[t * p.gate_stride];
    for (uint32_t i = 0; i < p.length; ++i) recalled += s[i] * k[i];
    const double v = p.v[t * p.value_stride + c];
    const double e = p.beta[t * p.gate_stride] * (v - recalled);
    for (uint32_t i = 0; i < p.length; ++i) s[i] += k[i] * e;
    for (uint32_t i = 0; i < p.length; ++i) sum += s[i] * q[i];
    for (double x : s) size += x * x;
    worst = std::max({worst, std::sqrt(size), std::fabs(v)});
    out.push_back(sum * p.scale);
  }
  return out;
}

// A row rounds each element of S twice, by u |S| together since k's elements are below 1. It rounds
// e by the sum's roundings: length / 4 + 2 of a chain, and three more, each of |S| |k| = |S|. A
// row's map of S has no norm above 1, so these errors grow at most as `rows`. The output has the
// roundings of its own sum besides, each of |S| |q| scale with |q| about sqrt(length).
double bound(const RuleProblem& p, double worst) {
  const double u = 0x1p-24, sum = p.length / 4 + 5;
  return (p.rows * (2 + sum) + sum) * u * 2 * worst;
}

TEST(DeltaRuleTest, IsNearTheTruthInTheSameBitsOnAllLevels) {
  for (uint32_t length : {1u, 2u, 3u, 5u, 16u, 31u, 64u, 128u}) {
    for (uint32_t columns : {1u, 15u, 16u, 33u, 48u, 128u}) {
      for (bool from_zero : {false, true}) {
        const RuleProblem p(7, length, columns, length * 1000 + columns);
        const RuleResult reference = run_rule(Isa::kReference, p, from_zero);
        for (uint32_t c = 0; c < columns; ++c) {
          std::vector<double> s;
          double worst = 0;
          const std::vector<double> truth = true_column(p, c, from_zero, s, worst);
          for (uint32_t t = 0; t < p.rows; ++t) {
            ASSERT_NEAR(reference.out[t * p.value_stride + c], truth[t], bound(p, worst))
                << length << " x " << columns << " row " << t << " column " << c;
          }
          for (uint32_t i = 0; i < length; ++i) {
            const size_t at = (c / kStateTile * length + i) * kStateTile + c % kStateTile;
            ASSERT_NEAR(reference.state[at], s[i], bound(p, worst));
          }
        }
        for (Isa isa : test_levels()) {
          ASSERT_NO_FATAL_FAILURE(expect_same(p, run_rule(isa, p, from_zero), reference, isa));
        }
      }
    }
  }
}

TEST(DeltaRuleTest, ZerosAreAsNoStateAtAll) {
  RuleProblem p(5, 32, 40, 1);
  std::fill(p.state.begin(), p.state.end(), 0.0f);
  for (Isa isa : test_levels()) {
    ASSERT_NO_FATAL_FAILURE(expect_same(p, run_rule(isa, p, true), run_rule(isa, p), isa));
  }
}

// The rows are given one by one or in runs, which update the state in place. The columns are given
// in one call or in several.
TEST(DeltaRuleTest, RunsAndColumnsChangeNoBit) {
  const RuleProblem p(12, 128, 120, 2);
  for (Isa isa : test_levels()) {
    const RuleResult whole = run_rule(isa, p);
    for (uint32_t run : {1u, 5u, 12u}) {
      for (uint32_t width : {16u, 32u, 112u}) {
        RuleResult cut(p);
        std::copy(p.state.begin(), p.state.end(), cut.state.begin());
        for (uint32_t t = 0; t < p.rows; t += run) {
          for (uint32_t c = 0; c < p.columns; c += width) {
            kernels_for(isa).delta_rule(p.args(t, std::min(run, p.rows - t), c,
                                               std::min(width, p.columns - c), cut.state.data(),
                                               cut.state, cut.out));
          }
        }
        ASSERT_NO_FATAL_FAILURE(expect_same(p, cut, whole, isa)) << run << " " << width;
      }
    }
  }
}

TEST(DeltaRuleTest, NoRowsCopyTheState) {
  const RuleProblem p(0, 20, 17, 3);
  for (Isa isa : test_levels()) {
    const RuleResult result = run_rule(isa, p);
    for (uint32_t i = 0; i < 20 * kStateTile; ++i) ASSERT_EQ(result.state[i], p.state[i]);
  }
}

// A decay of 0 forgets all finite numbers of the state. A NaN in the state would stay, since 0
// times NaN is NaN.
TEST(DeltaRuleTest, ForgetsByADecayOfZeroAndLearnsByAStrengthOfOne) {
  RuleProblem p(1, 16, 16, 4);
  p.decay[0] = 0;
  p.beta[0] = 1;
  std::copy(p.k.begin(), p.k.begin() + p.length, p.q.begin());
  p.scale = 1;
  for (Isa isa : test_levels()) {
    const RuleResult result = run_rule(isa, p);
    for (uint32_t c = 0; c < p.columns; ++c) EXPECT_NEAR(result.out[c], p.v[c], 1e-5);
  }
}

}  // namespace
}  // namespace hearth
