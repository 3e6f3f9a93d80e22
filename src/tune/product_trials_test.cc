#include "tune/product_trials.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hearth {
namespace {

TEST(ScheduleByHand, DefaultIsOnTheMenuOfEveryKind) {
  for (Isa isa : available_isas(detect_cpu_features())) {
    const Kernels& kernels = kernels_for(isa);
    for (size_t kind = 0; kind < kPackKinds; ++kind) {
      const GemmKernel& gemm = kernels.gemm[kind];
      for (uint32_t segments : {1u, 8u}) {
        const ProductUse use{{static_cast<PackKind>(kind), 4096, 1024, 2}, segments};
        for (uint32_t rows : {1u, 4u, 16u, 64u, 512u}) {
          const GemmSchedule default_schedule =
              make_default_schedule(gemm, use, rows, rows <= 16 ? 16 : 512);
          EXPECT_EQ(schedule_fault(default_schedule, *gemm.menu), "")
              << isa_name(isa) << " " << kind;
          EXPECT_FALSE(default_schedule.is_default());
          if (segments > 1) {
            EXPECT_LE(default_schedule.task_panels, kColumnTaskPanels);
          }
        }
      }
    }
  }
}

class ProductTrialsTest : public testing::Test {
 protected:
  std::unique_ptr<ProductTrials> trials() {
    return std::make_unique<ProductTrials>(weights_, kernels_, use_, 2, 16, timed_, stop_);
  }

  const ProductUse use_{{PackKind::kQ8_0, 256, 512, 2}};
  const Machine machine_ = Machine::invented(1, 2);
  const Kernels kernels_ = kernels_for(available_isas(detect_cpu_features()).back());
  PackedCopies weights_{
      machine_, 0, {{.kind = PackKind::kQ8_0, .rows = 256, .k = 512, .k_origin = 0}, 2}};
  Team team_{2};
  TimedTeam timed_{team_};
  bool stopped_ = false;
  std::function<bool()> stop_ = [this] { return stopped_; };
};

TEST_F(ProductTrialsTest, GivesACostAndAVerdict) {
  const auto all = trials();
  GemmSchedule same = all->default_schedule();
  EXPECT_GT(all->cost(same), 0);
  const auto compared = all->compare(same);
  ASSERT_TRUE(compared);
  EXPECT_GE(compared->pairs, PairedTrials::kMinPairs);
  EXPECT_LE(compared->cost.low, compared->cost.high);
}

TEST_F(ProductTrialsTest, TimesNothingOnceItIsStopped) {
  const auto all = trials();
  stopped_ = true;
  EXPECT_TRUE(std::isinf(all->cost(all->default_schedule())));
  EXPECT_FALSE(all->compare(all->default_schedule()));
}

}  // namespace
}  // namespace hearth
