#include "embed/embed_setup.h"

#include <gtest/gtest.h>

#include "embed/test_virtual_time.h"

namespace hearth {
namespace {

EmbedQuery text_query(std::string_view text) {
  return {std::string(text), std::vector<int32_t>(text.begin(), text.end())};
}

EmbedSetup set_up(const SetupOptions& options) {
  JumpingClock clock;
  auto no_engine = [](const EngineOptions&) -> std::unique_ptr<Engine> { return nullptr; };
  return set_up_devices(Machine::from_synthetic("numa:1 core:1 pu:1"), options, no_engine,
                        text_query, clock);
}

// The maker of pools gets the options of all pools' engines before it makes the first pool, since
// it may decide something for all of them at once.
TEST(EmbedSetup, AnnouncesEnginesOfAllPoolsFirst) {
  struct NoMore {};
  SetupOptions options;
  options.offload = true;
  options.devices = {"cpu:name=a,nodes=0", "cpu:name=b,nodes=0+1", "sim:alpha=1,beta=1"};
  std::vector<EngineOptions> announced;
  options.before_pools = [&](std::span<const EngineOptions> engines) {
    announced.assign(engines.begin(), engines.end());
  };
  JumpingClock clock;
  auto make = [&](const EngineOptions& engine) -> std::unique_ptr<Engine> {
    EXPECT_EQ(announced.size(), 3u);
    EXPECT_EQ(engine.nodes, std::vector<uint32_t>{0});
    throw NoMore();
  };
  EXPECT_THROW(set_up_devices(Machine::from_synthetic("numa:2 core:2 pu:1"), options, make,
                              text_query, clock),
               NoMore);
  ASSERT_EQ(announced.size(), 3u);
  EXPECT_EQ(announced[1].nodes, std::vector<uint32_t>{0});
  EXPECT_EQ(announced[2].nodes, std::vector<uint32_t>{1});
}

// Returns the first pool's options beside a simulated accelerator.
EngineOptions pool_beside(const std::string& pool, std::optional<uint32_t> host_cores) {
  struct NoMore {};
  SetupOptions options;
  options.offload = true;
  options.devices = {pool, "sim:alpha=1,beta=1"};
  options.host_cores = host_cores;
  EngineOptions announced;
  options.before_pools = [&](std::span<const EngineOptions> engines) {
    announced = engines[0];
    throw NoMore();
  };
  JumpingClock clock;
  auto no_engine = [](const EngineOptions&) -> std::unique_ptr<Engine> { return nullptr; };
  EXPECT_THROW(set_up_devices(Machine::from_synthetic("numa:1 core:16 pu:1"), options, no_engine,
                              text_query, clock),
               NoMore);
  return announced;
}

TEST(EmbedSetup, LeavesCoresToAccelerators) {
  EngineOptions pool = pool_beside("cpu", {});
  EXPECT_EQ(pool.threads, 12u);
  EXPECT_EQ(pool.pus.front(), 4u) << "the lowest are left";
  EXPECT_EQ(pool_beside("cpu", 0).threads, 15u);
  EXPECT_EQ(pool_beside("cpu", 6).threads, 10u);
  EXPECT_EQ(pool_beside("cpu", 99).threads, 1u);
  EXPECT_EQ(pool_beside("cpu:threads=15", {}).threads, 15u);
  EXPECT_EQ(pool_beside("cpu:cpus=0-13", 8).threads, 14u);
}

TEST(EmbedSetup, MeasuresADeviceByItsClock) {
  SetupOptions options;
  options.devices = {"sim:alpha=0.018,beta=0.27"};
  options.slo = 1;
  // The text by which devices are measured has kProbeTokens tokens.
  EmbedSetup setup = set_up(options);
  ASSERT_EQ(setup.queues.size(), 1u);
  EXPECT_NEAR(setup.reports[0].line.alpha, 0.018 / kProbeTokens, 1e-12);
  EXPECT_NEAR(setup.reports[0].line.beta, 0.27, 1e-9);
  EXPECT_GT(setup.reports[0].depth, 0u);
  EXPECT_GE(setup.queues[0].slots, setup.reports[0].depth * kProbeTokens);
}

// The mean of the times measured for one text is above the objective. The line, which weighs short
// times most, gives a time below it. Neither device gets a depth.
TEST(EmbedSetup, LeavesOutDevicesWithoutADepth) {
  SimOptions sim = sim_of(0, 1, 0.9, 3);
  SimTime times(sim);
  // Each device runs once to be compared and once to warm up.
  for (int i = 0; i < 2; ++i) times.seconds(kProbeTokens);
  double sum = 0, weights = 0, weighted = 0;
  for (int i = 0; i < 3; ++i) {
    double seconds = times.seconds(kProbeTokens);
    sum += seconds;
    weights += 1 / (seconds * seconds);
    weighted += 1 / seconds;
  }
  const double mean = sum / 3, line = weighted / weights;
  ASSERT_LT(line, 0.95 * mean);
  SetupOptions options;
  options.slo = (line + mean) / 2;
  for (const char* name : {"a", "b"}) {
    options.devices.push_back(fmt::format("sim:alpha=0,beta=1,noise=0.9,seed=3,name={}", name));
  }
  EmbedSetup setup = set_up(options);
  EXPECT_TRUE(setup.queues.empty());
  for (const DeviceReport& report : setup.reports) {
    EXPECT_FALSE(report.queue);
    EXPECT_EQ(report.depth, 0u);
    EXPECT_EQ(report.why, "one text takes too long while other devices run");
  }
}

}  // namespace
}  // namespace hearth
