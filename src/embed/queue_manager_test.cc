#include "embed/queue_manager.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "embed/sim_device.h"
#include "embed/test_queues.h"

namespace hearth {
namespace {

TEST(QueueManager, AnswersEachQueryWithItsVector) {
  HandClock clock;
  Outcomes outcomes;
  QueueManager manager(queues_of(queue_of(DeviceKind::kCpu, 100, [](auto) {})), by_depth(), clock);
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(manager.submit(query_of(i), outcomes.done(i)).admitted, Admitted::kAccepted);
  }
  outcomes.wait_for(20);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(outcomes.of(i).vector, simulated_vector(query_of(i), kWidth));
    EXPECT_EQ(outcomes.of(i).device, "device");
    EXPECT_FALSE(outcomes.of(i).error);
  }
  EXPECT_EQ(manager.statistics()[0].done, 20u);
}

TEST(QueueManager, RunsTogetherWhatWaited) {
  HandClock clock;
  Gate gate;
  Outcomes outcomes;
  std::vector<size_t> sizes;
  QueueManager manager(queues_of(queue_of(DeviceKind::kCpu, 100,
                                          [&](auto batch) {
                                            sizes.push_back(batch.size());
                                            gate.pass();
                                          })),
                       by_depth(), clock);
  manager.submit(query_of(0), outcomes.done(0));
  gate.wait_for(1);
  for (int i = 1; i < 6; ++i) manager.submit(query_of(i), outcomes.done(i));
  EXPECT_EQ(manager.statistics()[0].waiting, 5u);
  gate.open();
  outcomes.wait_for(6);
  EXPECT_EQ(sizes, (std::vector<size_t>{1, 5}));
}

TEST(QueueManager, IsBusyWithSlotsHeldUntilTheReply) {
  HandClock clock;
  Gate gate;
  Outcomes outcomes;
  QueueManager manager(queues_of(queue_of(DeviceKind::kCpu, 4, [&](auto) { gate.pass(); })),
                       by_depth(), clock);
  manager.submit(query_of(0), outcomes.done(0));
  gate.wait_for(1);
  EXPECT_EQ(manager.submit(query_of(1), outcomes.done(1)).admitted, Admitted::kAccepted);
  SubmitResult busy = manager.submit(query_of(2), outcomes.done(2));
  EXPECT_EQ(busy.admitted, Admitted::kBusy);
  EXPECT_GT(busy.retry_after, 0);
  EXPECT_EQ(manager.refused(), 1u);
  gate.open();
  outcomes.wait_for(2);
}

TEST(QueueManager, TakesAllOrNone) {
  HandClock clock;
  Gate gate;
  Outcomes outcomes;
  QueueManager manager(queues_of(queue_of(DeviceKind::kCpu, 6, [&](auto) { gate.pass(); })),
                       by_depth(), clock);
  auto take = [&](size_t index, EmbedOutcome outcome) { outcomes.take(index, std::move(outcome)); };
  std::vector<EmbedQuery> four = {query_of(0), query_of(1), query_of(2), query_of(3)};
  EXPECT_EQ(manager.submit_all(four, take).admitted, Admitted::kTooLong);
  EXPECT_EQ(manager.statistics()[0].held, 0u);
  EXPECT_EQ(manager.refused(), 4u);
  std::vector<EmbedQuery> three = {query_of(0), query_of(1), query_of(2)};
  EXPECT_EQ(manager.submit_all(three, take).admitted, Admitted::kAccepted);
  EXPECT_EQ(manager.submit_all(three, take).admitted, Admitted::kBusy);
  gate.open();
  outcomes.wait_for(3);
  EXPECT_EQ(outcomes.of(2).vector, simulated_vector(query_of(2), kWidth));
}

TEST(QueueManager, CancelsWhatWaits) {
  HandClock clock;
  Gate gate;
  Outcomes outcomes;
  QueueManager manager(queues_of(queue_of(DeviceKind::kCpu, 100, [&](auto) { gate.pass(); })),
                       by_depth(), clock);
  uint64_t runs = manager.submit(query_of(0), outcomes.done(0)).ticket;
  gate.wait_for(1);
  uint64_t waits = manager.submit(query_of(1), outcomes.done(1)).ticket;
  EXPECT_EQ(manager.cancel(waits), 1u);
  EXPECT_EQ(manager.cancel(waits), 0u);
  EXPECT_EQ(manager.cancel(runs), 0u);
  gate.open();
  outcomes.wait_for(1);
  EXPECT_EQ(outcomes.of(0).device, "device");
}

TEST(QueueManager, AnswersABadTextAloneWithItsError) {
  HandClock clock;
  Gate gate;
  Outcomes outcomes;
  QueueManager manager(queues_of(queue_of(DeviceKind::kCpu, 100,
                                          [&](auto batch) {
                                            gate.pass();
                                            for (const EmbedQuery* query : batch) {
                                              if (query->tokens[0] == 2)
                                                fail(ErrorCode::kRequest, "the text is bad");
                                            }
                                          })),
                       by_depth(), clock);
  manager.submit(query_of(0), outcomes.done(0));
  gate.wait_for(1);
  for (int i = 1; i < 4; ++i) manager.submit(query_of(i), outcomes.done(i));
  gate.open();
  outcomes.wait_for(4);
  for (int i : {0, 1, 3}) EXPECT_EQ(outcomes.of(i).vector, simulated_vector(query_of(i), kWidth));
  ASSERT_TRUE(outcomes.of(2).error);
  EXPECT_EQ(outcomes.of(2).error->code(), ErrorCode::kRequest);
  EXPECT_TRUE(manager.statistics()[0].up);
}

TEST(QueueManager, RefusesDevicesOfTwoWidths) {
  HandClock clock;
  SimOptions wide;
  wide.width = 16;
  std::vector<DeviceQueue> queues = queues_of(queue_of(DeviceKind::kCpu, 1, [](auto) {}));
  queues.push_back({std::make_unique<SimDevice>("wide", DeviceKind::kCpu, wide, clock), {1, 1}, 1});
  EXPECT_THROW(QueueManager(std::move(queues), by_depth(), clock), Error);
}

TEST(QueueManager, AnswersWhatWaitsWhenItEnds) {
  HandClock clock;
  Gate gate;
  Outcomes outcomes;
  std::thread opener;
  {
    QueueManager manager(queues_of(queue_of(DeviceKind::kCpu, 100, [&](auto) { gate.pass(); })),
                         by_depth(), clock);
    manager.submit(query_of(0), outcomes.done(0));
    gate.wait_for(1);
    manager.submit(query_of(1), outcomes.done(1));
    opener = std::thread([&] { gate.open(); });
  }
  opener.join();
  EXPECT_EQ(outcomes.count(), 2u);
  EXPECT_FALSE(outcomes.of(0).error);
}

TEST(QueueManager, AbandonsItsDevicesWhenItEnds) {
  class Waiting : public ScriptedDevice {
   public:
    using ScriptedDevice::ScriptedDevice;
    std::vector<EmbedVector> run(std::span<const EmbedQuery* const>) override {
      gate.pass();
      fail(ErrorCode::kResource, "abandoned");
    }
    void abandon() override { gate.open(); }
    Gate gate;
  };
  HandClock clock;
  Outcomes outcomes;
  DeviceQueue queue = queue_of<Waiting>(DeviceKind::kCpu, 100, [](auto) {});
  auto& device = static_cast<Waiting&>(*queue.device);
  {
    QueueManager manager(queues_of(std::move(queue)), by_depth(), clock);
    manager.submit(query_of(0), outcomes.done(0));
    device.gate.wait_for(1);
  }
  ASSERT_TRUE(outcomes.of(0).error);
  EXPECT_EQ(outcomes.of(0).error->code(), ErrorCode::kBusy);
}

}  // namespace
}  // namespace hearth
