#include "bench/embed_bench.h"

#include <gtest/gtest.h>

#include "embed/sim_device.h"
#include "embed/test_virtual_time.h"

namespace hearth {
namespace {

EmbedCase sample_case() {
  EmbedCase one;
  one.length = 75;
  one.slo = 1;
  one.devices = {{"v100", DeviceKind::kAccelerator, {0.018, 0.27}, 40, 40, 39},
                 {"xeon", DeviceKind::kCpu, {0.084, 0.32}, 8, 8, 7}};
  return one;
}

TEST(EmbedBench, AddsUpACase) {
  EmbedCase one = sample_case();
  EXPECT_EQ(one.alone(), 48u);
  EXPECT_EQ(one.together(), 46u);
  EXPECT_EQ(one.accelerators(), 40u);
  // A batch may take half a second. In it the devices compute 0.23 / 0.018 and 0.18 / 0.084 texts.
  EXPECT_NEAR(one.capacity(), 2 * (0.23 / 0.018 + 0.18 / 0.084), 1e-9);
  // The second device takes more than half the objective for one text, so texts run one by one.
  one.slo = 0.6;
  EXPECT_NEAR(one.capacity(), 0.03 / 0.018 / 0.3 + 1 / 0.404, 1);
  one.devices[1].together = 0;
  EXPECT_NEAR(one.capacity(), 0.03 / 0.018 / 0.3, 1e-9);
}

// Tests with only one of the paper's devices.
class EmbedBenchOfOne : public testing::Test {
 protected:
  static EmbedBenchHooks hooks() {
    EmbedBenchHooks hooks;
    hooks.query = [](uint32_t tokens, uint64_t number) {
      return EmbedQuery{"", std::vector<int32_t>(tokens, static_cast<int32_t>(number))};
    };
    return hooks;
  }

  JumpingClock clock_;
  SimDevice device_{"v100", DeviceKind::kAccelerator, kV100.sim, clock_};
  EmbedBench bench_{{&device_}, clock_, hooks()};
};

TEST_F(EmbedBenchOfOne, MeasuresADeviceByItself) {
  EmbedCase one = bench_.measure(75, 1, 2);
  EXPECT_EQ(one.devices[0].estimated, 40u);
  EXPECT_EQ(one.devices[0].alone, 40u);
  EXPECT_EQ(one.devices[0].together, 40u);
  // A text of twice the length takes twice as long, so the concurrency is (1 - 0.27) / 0.036.
  EXPECT_EQ(bench_.measure(150, 1, 1).together(), 20u);
  EXPECT_EQ(bench_.measure(75, 0.28, 1).together(), 0u);
}

TEST_F(EmbedBenchOfOne, CountsArrivals) {
  EmbedCase one = bench_.measure(75, 1, 1);
  EmbedArrivals load = bench_.arrivals(one, Admission::kDeadline, 20, 10, 1);
  EXPECT_NEAR(static_cast<double>(load.offered), 200, 60);
  EXPECT_LE(load.accepted, load.offered);
  EXPECT_EQ(load.answered, load.accepted);
  EXPECT_EQ(load.devices[0].done, load.accepted);
}

TEST(EmbedBench, MeasuresDispatch) {
  SteadyClock clock;
  EmbedDispatch dispatch = measure_dispatch(clock, 20);
  EXPECT_EQ(dispatch.texts, 20u);
  EXPECT_GT(dispatch.round_trip.p50, 0);
  EXPECT_LE(dispatch.submit.p50, dispatch.submit.p99);
}

}  // namespace
}  // namespace hearth
