#include "bench/kernel_bench.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "kernels/kernels.h"

namespace hearth {
namespace {

class KernelBenchTest : public testing::Test {
 protected:
  KernelBenchTest() {
    for (LlcGroup& llc : machine_.llcs) llc.bytes = 1 << 18;
    machine_.memory_available = 0;
    placement_ = place_threads(machine_, {.threads = 2});
    limits_ = std::make_unique<TeamLimits>(team_, machine_, placement_,
                                           std::vector{available_isas(detect_cpu_features())[0]});
  }
  std::vector<KernelResult> run(const MatrixShape& shape, KernelHooks hooks,
                                Contenders& contenders) {
    KernelBench bench(team_, machine_, 0, *limits_, contenders, std::move(hooks));
    return bench.run(shape, std::vector<uint32_t>{1, 20}, 2);
  }

  std::vector<KernelResult> run(const MatrixShape& shape, KernelHooks hooks) {
    Contenders nobody;
    return run(shape, std::move(hooks), nobody);
  }

  Machine machine_ = Machine::invented(1, 2);
  Placement placement_;
  Team team_{2};
  std::unique_ptr<TeamLimits> limits_;
};

TEST_F(KernelBenchTest, AResultForEveryNumberOfRows) {
  uint32_t told = 0;
  KernelHooks hooks;
  hooks.progress = [&](std::string_view doing) {
    told += doing.starts_with("q8_0 k, v m ") ? 1 : 0;
  };
  std::vector<KernelResult> results = run({40, 256, weight_type(DType::kQ8_0), "k, v"}, hooks);
  ASSERT_EQ(results.size(), 2u);
  for (const KernelResult& result : results) {
    EXPECT_EQ(result.shape.roles, "k, v");
    EXPECT_EQ(result.rows, 48u);
    EXPECT_EQ(result.seconds.size(), 2u);
    for (double seconds : result.seconds) EXPECT_GT(seconds, 0);
    EXPECT_GE(result.copies * result.bytes, limits_->buffer().bytes);
    EXPECT_TRUE(result.others.empty());
  }
  EXPECT_EQ(results[1].operations(), 2.0 * 20 * 48 * 256);
  EXPECT_EQ(told, 4u);
  // The limits are sampled before the first repetition and after each, for both results.
  EXPECT_EQ(limits_->levels()[0].samples.size(), 6u);
}

TEST_F(KernelBenchTest, EndsWhenInterrupted) {
  uint32_t asked = 0;
  KernelHooks hooks;
  hooks.interrupted = [&] { return ++asked > 2; };
  std::vector<KernelResult> results = run({32, 64, weight_type(DType::kF32), "q"}, hooks);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].seconds.size(), 1u);
}

TEST_F(KernelBenchTest, RefusesWhatMemoryDoesNotHold) {
  machine_.memory_available = limits_->buffer().bytes;
  try {
    run({32, 64, weight_type(DType::kF32), "q"}, {});
    FAIL() << "was measured";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kResource);
    EXPECT_NE(std::string(error.what()).find("f32 matrices of 32 x 64"), std::string::npos)
        << error.what();
  }
}

// A contender that accepts every product and computes nothing.
class Idle : public Contenders {
 public:
  std::vector<Contender> ready(const ContenderTask& task) override {
    if (task.kind != PackKind::kF32) return {};
    auto run = [this](uint32_t count) {
      order += 'b';
      return 1.0 * count;
    };
    return {{"Idle", fmt::format("{} x {}", task.rows, task.copies > 1), run}};
  }
  void before_turn() override { order += '.'; }

  std::string order;
};

TEST_F(KernelBenchTest, ContendersTakeTurnsWithOurs) {
  Idle idle;
  std::vector<KernelResult> results = run({32, 64, weight_type(DType::kF32), "q"}, {}, idle);
  ASSERT_EQ(results.size(), 2u);
  for (const KernelResult& result : results) {
    ASSERT_EQ(result.others.size(), 1u);
    EXPECT_EQ(result.others[0].implementation, "32 x true");
    EXPECT_EQ(result.others[0].seconds, (std::vector<double>{1, 1}));
  }
  // First each product runs once, to see how long it takes. Then the limits are sampled, and two
  // repetitions follow, each with our turn, the contender's, and a sample of the limits.
  EXPECT_EQ(idle.order, "b...b...b.b...b...b.");
  EXPECT_TRUE(run({32, 64, weight_type(DType::kQ8_0), "q"}, {}, idle)[0].others.empty());
  EXPECT_EQ(idle.order.size(), 20u);
}

}  // namespace
}  // namespace hearth
