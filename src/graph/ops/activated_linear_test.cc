// The inner half of feed-forward layers, with and without a gate and biases: the bits do not depend
// on the cut, and are near the result in double.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "graph/ops/linear.h"
#include "graph/ops/test_ops.h"

namespace hearth {
namespace {

// The sizes of the layer. kHidden leaves the last unit of 32 and the last panel of 16 not full.
constexpr uint32_t kUnits = 13, kHidden = kUnits * 32 - 10, kIn = 96, kMaxRows = 300;
constexpr double kU = 0x1p-24;

struct Kind {
  Activation activation;
  bool gate, biases;
};
constexpr Kind kKinds[] = {
    {Activation::kGelu, false, false},         {Activation::kGelu, false, true},
    {Activation::kGelu, true, false},          {Activation::kGelu, true, true},
    {Activation::kSilu, true, false},          {Activation::kSilu, true, true},
    {Activation::kGeluTanh, true, false},      {Activation::kGeluTanh, true, true},
    {Activation::kClampedSwiglu, true, false}, {Activation::kClampedSwiglu, true, true}};

const TestMatrix& input() {
  static const TestMatrix m(kMaxRows, kIn, 1);
  return m;
}

struct Part {
  explicit Part(uint32_t seed) : w(kHidden, kIn, seed), bias(1, kHidden, seed + 1) {}
  TestMatrix w, bias;
};

// The layer, cut over the shards of a plan.
class Layer {
 public:
  Layer(const Plan& plan, const Kind& kind, const Part& a, const Part& b)
      : cuts_(kUnits, 1, std::vector<uint32_t>(plan.shard_count(), 1)),
        a_(a.w, cuts_, 32),
        b_(b.w, cuts_, 32),
        a_bias_(test_vector(a.bias, plan.shard_count())),
        b_bias_(test_vector(b.bias, plan.shard_count())),
        down_(cut_weight("down", DType::kF32, 32, kHidden, CutBy::kColumns, cuts_, 32)),
        plan_(plan),
        run_(graph(kind)) {}

  // Returns the layer's activations, [rows][kHidden].
  std::vector<float> run(uint32_t rows) {
    const std::vector<int32_t> tokens(rows);
    StepView step;
    step.tokens = tokens;
    run_->run(step);
    std::vector<float> all(size_t{rows} * kHidden);
    for (uint32_t g = 0; g < plan_.group_count(); ++g) {
      for (const ColumnSlice& slice :
           column_slices(cuts_, down_.unit, kHidden, plan_.groups[g].share)) {
        for (uint32_t r = 0; r < rows; ++r) {
          const ValueId value = out_.values[g];
          const ExecutionContext& context = run_->context();
          std::copy_n(context.f32(value) + r * context.f32_stride(value) + slice.column,
                      slice.elements, &all[size_t{r} * kHidden + slice.element]);
        }
      }
    }
    return all;
  }

 private:
  std::unique_ptr<TestRun> graph(const Kind& kind) {
    GraphBuilder builder(plan_, kernels_for(available_isas(detect_cpu_features()).back()),
                         kMaxRows);
    const Bundle x = test_input(builder, input());
    const LinearMatrix a{&a_.weight, kind.biases ? &a_bias_ : nullptr};
    const LinearMatrix b{&b_.weight, kind.biases ? &b_bias_ : nullptr};
    out_ = kind.gate ? gated_linear(builder, "ffn", x, a, b, down_, kind.activation)
                     : gelu_linear(builder, "ffn", x, a, down_);
    test_output(builder, out_);
    return std::make_unique<TestRun>(std::move(builder).finish());
  }

  AxisCuts cuts_;
  TestWeight a_, b_;
  VectorWeight a_bias_, b_bias_;
  Weight down_;
  Plan plan_;
  Bundle out_;
  std::unique_ptr<TestRun> run_;
};

// A product with a row of weights, and the largest error of binary32: a rounding for each of its
// terms and for the bias.
struct Sum {
  double value = 0, slack = 0;
};
Sum product(const Part& part, const Kind& kind, uint32_t r, uint32_t column) {
  Sum sum;
  double size = 0;
  auto add = [&](double term) {
    sum.value += term;
    size += std::fabs(term);
  };
  for (uint32_t i = 0; i < kIn; ++i) add(1.0 * part.w.row(column)[i] * input().row(r)[i]);
  if (kind.biases) add(part.bias.x[column]);
  sum.slack = (kIn + 2) * kU * size;
  return sum;
}

double true_activation(Activation activation, double x) {
  switch (activation) {
    case Activation::kSilu:
      return x / (1 + std::exp(-x));
    case Activation::kGelu:
      return x * std::erfc(-x / std::sqrt(2.0)) / 2;
    case Activation::kGeluTanh:
      return x / 2 * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
    case Activation::kClampedSwiglu:
      x = std::min(x, 7.0);
      return x / (1 + std::exp(-1.702 * x));
  }
  return NAN;
}

// All activations have slopes below 1.13, and the errors that kernels/activation/activation.h
// names. The error of SwiGLU with limits is 8e-7 at most.
void expect_true(const Kind& kind, const Part& a, const Part& b, const std::vector<float>& out) {
  for (uint32_t r = 0; r < out.size() / kHidden; ++r) {
    for (uint32_t c = r % 7; c < kHidden; c += c + 20 < kHidden ? 7 : 1) {
      const Sum x = product(a, kind, r, c);
      Sum y{true_activation(kind.activation, x.value), 0};
      y.slack = 1.13 * x.slack + 8e-7 * std::fabs(x.value);
      if (kind.gate) {
        Sum up = product(b, kind, r, c);
        if (kind.activation == Activation::kClampedSwiglu) {
          up.value = std::clamp(up.value, -7.0, 7.0) + 1;
          up.slack += std::fabs(up.value) * kU;
        }
        y.slack = y.slack * (std::fabs(up.value) + up.slack) + std::fabs(y.value) * up.slack;
        y.value *= up.value;
        y.slack += std::fabs(y.value) * kU;
      }
      ASSERT_NEAR(out[size_t{r} * kHidden + c], y.value, y.slack) << "row " << r << " column " << c;
    }
  }
}

TEST(ActivatedLinear, GivesTheTruthInTheSameBitsHoweverItIsCut) {
  const Part a(2), b(4);
  for (const Kind& kind : kKinds) {
    SCOPED_TRACE(testing::Message()
                 << static_cast<int>(kind.activation) << kind.gate << kind.biases);
    std::vector<std::vector<float>> expected;
    for (const Plan& plan : test_plans(kMaxRows)) {
      Layer layer(plan, kind, a, b);
      std::vector<std::vector<float>> got;
      for (uint32_t rows : {1u, 5u, 17u, kMaxRows}) got.push_back(layer.run(rows));
      if (expected.empty()) {
        expected = got;
        for (const std::vector<float>& out : got) expect_true(kind, a, b, out);
      }
      EXPECT_EQ(got, expected) << plan_text(plan);
    }
  }
}

// A row has the same bits in steps of any size. Each step's rows are compared with the first rows
// of the largest step.
TEST(ActivatedLinear, ARowDoesNotDependOnItsCompany) {
  const Part a(6), b(8);
  for (const Kind& kind : kKinds) {
    Layer layer(even_plan(Phase::kPrefill, kMaxRows, 1, 1, 2), kind, a, b);
    const std::vector<float> all = layer.run(kMaxRows);
    for (uint32_t rows : {1u, 2u, 16u, 33u}) {
      const std::vector<float> some = layer.run(rows);
      EXPECT_EQ(some, std::vector<float>(all.begin(), all.begin() + rows * size_t{kHidden}));
    }
  }
}

}  // namespace
}  // namespace hearth
