#include "embed/dispatcher.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <vector>

namespace hearth {
namespace {

using Ids = std::vector<uint64_t>;
constexpr double kForever = std::numeric_limits<double>::infinity();

Ids withdrawn(Dispatcher& dispatcher, uint64_t first, uint64_t count) {
  Ids ids;
  uint64_t taken = dispatcher.withdraw(first, count, [&](uint64_t id) { ids.push_back(id); });
  EXPECT_EQ(taken, ids.size());
  return ids;
}

QueueOptions queue_of(DeviceKind kind, double alpha, double beta, uint64_t slots) {
  QueueOptions queue;
  queue.kind = kind;
  queue.line = {alpha, beta};
  queue.slots = slots;
  return queue;
}

DispatchOptions by_depth() {
  DispatchOptions options;
  options.admission = Admission::kDepth;
  options.slo = 1;
  options.gather = 0;
  return options;
}

DispatchOptions by_deadline() {
  DispatchOptions options;
  options.slo = 1;
  options.reserve = 0;
  options.gather = 0;
  return options;
}

DispatchQuery query_of(uint64_t id, uint64_t tokens, double deadline) {
  return {id, tokens, deadline, id};
}

// Offers queries of one token, from `first` on, and returns the device that took each; -1: BUSY.
std::vector<int> offer_some(Dispatcher& dispatcher, uint64_t first, int count, double now) {
  std::vector<int> out;
  for (int i = 0; i < count; ++i) {
    DispatchResult result = dispatcher.offer(query_of(first + i, 1, now + 1), now);
    out.push_back(result.admitted == Admitted::kAccepted ? static_cast<int>(result.device) : -1);
  }
  return out;
}

TEST(Dispatcher, FillsAcceleratorsThenPoolsByAlphaThenIsBusy) {
  Dispatcher dispatcher(
      {queue_of(DeviceKind::kCpu, 0.3, 0, 1), queue_of(DeviceKind::kCpu, 0.2, 0, 2),
       queue_of(DeviceKind::kAccelerator, 0.5, 0, 3)},
      by_depth());
  EXPECT_EQ(offer_some(dispatcher, 1, 7, 0), (std::vector<int>{2, 2, 2, 1, 1, 0, -1}));
}

TEST(Dispatcher, HoldsSlotsUntilTheReply) {
  Dispatcher dispatcher({queue_of(DeviceKind::kCpu, 0.1, 0, 2)}, by_depth());
  EXPECT_EQ(offer_some(dispatcher, 1, 3, 0), (std::vector<int>{0, 0, -1}));
  EXPECT_EQ(dispatcher.begin(0, 0), (Ids{1, 2}));
  EXPECT_EQ(offer_some(dispatcher, 3, 1, 0.1), (std::vector<int>{-1}));
  EXPECT_EQ(dispatcher.statistics(0).held, 2u);
  EXPECT_EQ(dispatcher.finish(0, 0.2), 0u);
  EXPECT_EQ(dispatcher.statistics(0).held, 0u);
  EXPECT_EQ(offer_some(dispatcher, 4, 1, 0.2), (std::vector<int>{0}));
}

TEST(Dispatcher, CountsSlotsInTokens) {
  Dispatcher dispatcher({queue_of(DeviceKind::kCpu, 0.001, 0, 100)}, by_depth());
  EXPECT_EQ(dispatcher.offer(query_of(1, 60, 1), 0).admitted, Admitted::kAccepted);
  EXPECT_EQ(dispatcher.offer(query_of(2, 41, 1), 0).admitted, Admitted::kBusy);
  EXPECT_EQ(dispatcher.offer(query_of(3, 40, 1), 0).admitted, Admitted::kAccepted);
  EXPECT_EQ(dispatcher.offer(query_of(4, 101, 1), 0).admitted, Admitted::kTooLong);
}

TEST(Dispatcher, SaysWhenToTryAgain) {
  Dispatcher dispatcher({queue_of(DeviceKind::kCpu, 0.25, 0.25, 2)}, by_depth());
  offer_some(dispatcher, 1, 2, 10);
  dispatcher.begin(0, 10);
  DispatchResult busy = dispatcher.offer(query_of(3, 1, 11.5), 10.5);
  EXPECT_EQ(busy.admitted, Admitted::kBusy);
  EXPECT_DOUBLE_EQ(busy.retry_after, 0.25);  // the batch takes 0.75 s
}

TEST(Dispatcher, MakesBatchesOfSoManyTokensAtMost) {
  QueueOptions queue = queue_of(DeviceKind::kCpu, 0.001, 0, 1000);
  queue.batch = 100;
  Dispatcher dispatcher({queue}, by_depth());
  for (uint64_t id : {1, 2, 3}) dispatcher.offer(query_of(id, 50, 1), 0);
  dispatcher.offer(query_of(4, 300, 1), 0);
  dispatcher.offer(query_of(5, 10, 1), 0);
  for (const Ids& batch : {Ids{1, 2}, Ids{3}, Ids{4}, Ids{5}}) {
    EXPECT_EQ(dispatcher.begin(0, 0), batch);
    EXPECT_EQ(dispatcher.begin(0, 0), Ids{});  // the device is not idle
    dispatcher.finish(0, 0.1);
  }
}

TEST(Dispatcher, AdmitsWhatEndsBeforeTheEarliestDeadlineOfItsBatch) {
  // A batch of n takes 0.1 n + 0.2 seconds.
  Dispatcher dispatcher({queue_of(DeviceKind::kCpu, 0.1, 0.2, 8)}, by_deadline());
  ASSERT_EQ(offer_some(dispatcher, 1, 1, 0), (std::vector<int>{0}));
  dispatcher.begin(0, 0);  // until 0.3
  // The next batch, of n queries, ends at 0.5 + 0.1 n; its first query must be answered by 1.
  EXPECT_EQ(offer_some(dispatcher, 2, 6, 0), (std::vector<int>{0, 0, 0, 0, 0, -1}));
  // A sixth query would move the batch's end to 1.1. That is in time for its own deadline of 1.2,
  // but too late for the queries before it.
  EXPECT_EQ(dispatcher.offer(query_of(8, 1, 1.2), 0.2).admitted, Admitted::kBusy);
  EXPECT_EQ(dispatcher.finish(0, 0.3), 0u);
  EXPECT_EQ(dispatcher.begin(0, 0.3).size(), 5u);
  EXPECT_EQ(offer_some(dispatcher, 9, 1, 0.3), (std::vector<int>{0}));
  EXPECT_EQ(dispatcher.finish(0, 1), 0u);
}

TEST(Dispatcher, LearnsWhatBatchesTakeBesideTheLine) {
  Dispatcher dispatcher({queue_of(DeviceKind::kCpu, 0.1, 0.2, 8)}, by_deadline());
  EXPECT_DOUBLE_EQ(dispatcher.predict(0, 3), 0.5);
  double now = 0;
  for (uint64_t id = 1; id < 200; ++id) {
    dispatcher.offer(query_of(id, 1, now + 1), now);
    ASSERT_EQ(dispatcher.begin(0, now), Ids{id});
    now += 0.6;  // twice the line's time
    dispatcher.finish(0, now);
  }
  // The line's weight in the mean, and the deviations from that mean, both fall by 1/32 a batch.
  EXPECT_NEAR(dispatcher.predict(0, 3), 1, 0.1);
}

TEST(Dispatcher, TriesADeviceAgainThatWasTooSlowForAnyDeadline) {
  Dispatcher dispatcher({queue_of(DeviceKind::kCpu, 0.1, 0.2, 8)}, by_deadline());
  double now = 0;
  uint64_t id = 1;
  while (dispatcher.offer(query_of(id, 1, now + 1), now).admitted == Admitted::kAccepted &&
         id < 100) {
    dispatcher.begin(0, now);
    now += 3;
    dispatcher.finish(0, now);
    ++id;
  }
  ASSERT_LT(id, 100u);
  int seconds = 0;
  while (dispatcher.offer(query_of(++id, 1, now + 1), now).admitted != Admitted::kAccepted &&
         seconds < 100) {
    now += 1;
    ++seconds;
  }
  EXPECT_GT(seconds, 0);
  EXPECT_LT(seconds, 100);
}

TEST(Dispatcher, WithoutAnObjectiveGoesByDepth) {
  DispatchOptions options;
  Dispatcher dispatcher({queue_of(DeviceKind::kCpu, 10, 10, 2)}, options);
  EXPECT_EQ(offer_some(dispatcher, 1, 3, 0), (std::vector<int>{0, 0, -1}));
  EXPECT_EQ(dispatcher.offer(query_of(4, 3, kForever), 0).admitted, Admitted::kTooLong);
}

TEST(Dispatcher, SaysWhatNoDeviceCouldDoInTime) {
  Dispatcher dispatcher({queue_of(DeviceKind::kCpu, 0.1, 0.2, 8)}, by_deadline());
  EXPECT_EQ(dispatcher.offer(query_of(1, 9, 1), 0).admitted, Admitted::kTooLong);
  EXPECT_EQ(dispatcher.offer(query_of(2, 8, 1), 0).admitted, Admitted::kAccepted);
}

TEST(Dispatcher, StaysAwayFromDeadlines) {
  DispatchOptions options = by_deadline();
  options.reserve = 0.05;
  Dispatcher dispatcher({queue_of(DeviceKind::kCpu, 0.1, 0.2, 8)}, options);
  EXPECT_EQ(dispatcher.offer(query_of(1, 8, 1), 0).admitted, Admitted::kTooLong);
  EXPECT_EQ(dispatcher.offer(query_of(2, 7, 0.94), 0).admitted, Admitted::kBusy);
  EXPECT_EQ(dispatcher.offer(query_of(3, 7, 1), 0).admitted, Admitted::kAccepted);
}

TEST(Dispatcher, CountsLateReplies) {
  Dispatcher dispatcher({queue_of(DeviceKind::kCpu, 0.1, 0.2, 8)}, by_depth());
  dispatcher.offer(query_of(1, 1, 1), 0);
  dispatcher.offer(query_of(2, 1, 1.5), 0.5);
  dispatcher.begin(0, 0.5);
  EXPECT_EQ(dispatcher.finish(0, 1.2), 1u);
  DeviceStatistics counts = dispatcher.statistics(0);
  EXPECT_EQ(counts.done, 2u);
  EXPECT_EQ(counts.late, 1u);
  EXPECT_EQ(counts.batches, 1u);
  EXPECT_DOUBLE_EQ(counts.busy_seconds, 0.7);
}

TEST(Dispatcher, TakesBackWhatWaits) {
  Dispatcher dispatcher({queue_of(DeviceKind::kCpu, 0.1, 0, 2)}, by_depth());
  offer_some(dispatcher, 1, 2, 0);
  EXPECT_EQ(withdrawn(dispatcher, 1, 1), Ids{1});
  EXPECT_EQ(withdrawn(dispatcher, 1, 1), Ids{});
  EXPECT_EQ(offer_some(dispatcher, 3, 2, 0), (std::vector<int>{0, -1}));
  EXPECT_EQ(dispatcher.begin(0, 0), (Ids{2, 3}));
  EXPECT_EQ(withdrawn(dispatcher, 0, 100), Ids{});  // both queries run
}

TEST(Dispatcher, DropsWhatRunsAndThenWhatWaits) {
  Dispatcher dispatcher({queue_of(DeviceKind::kCpu, 0.1, 0, 6)}, by_depth());
  offer_some(dispatcher, 1, 4, 0);
  EXPECT_EQ(dispatcher.begin(0, 0).size(), 4u);
  offer_some(dispatcher, 5, 2, 0);
  std::set<uint64_t> dropped;
  while (std::optional<uint64_t> id = dispatcher.drop(0, 6, 1)) dropped.insert(*id);
  EXPECT_EQ(dropped, (std::set<uint64_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(dispatcher.drop(0, 7, 1), 6u);
  EXPECT_EQ(dispatcher.statistics(0).held, 0u);
  EXPECT_EQ(dispatcher.statistics(0).batches, 1u);
  EXPECT_TRUE(dispatcher.begin(0, 1).empty());
  EXPECT_EQ(offer_some(dispatcher, 7, 1, 1), (std::vector<int>{0}));
}

TEST(Dispatcher, LetsGroupsTakeTurnsWithoutDeadlines) {
  QueueOptions queue = queue_of(DeviceKind::kCpu, 0.1, 0, 100);
  queue.batch = 4;
  Dispatcher dispatcher({queue}, by_depth());
  for (uint64_t id = 1; id <= 6; ++id) dispatcher.offer({id, 1, 1, 1}, 0);
  dispatcher.offer({7, 1, 1, 2}, 0);
  dispatcher.offer({8, 1, 1, 2}, 0);
  for (const Ids& batch : {Ids{1, 2, 7, 8}, Ids{3, 4, 5, 6}}) {
    EXPECT_EQ(dispatcher.begin(0, 0), batch);
    dispatcher.finish(0, 0);
  }
}

TEST(Dispatcher, SaysWhatIdleDevicesCouldTake) {
  Dispatcher dispatcher({queue_of(DeviceKind::kCpu, 0.1, 0.2, 8)}, by_deadline());
  offer_some(dispatcher, 1, 8, 0);
  EXPECT_TRUE(dispatcher.could_take({4, 4}));
  EXPECT_FALSE(dispatcher.could_take({4, 4, 1}));
}

TEST(Dispatcher, GoesOnWhereABatchIsGivenUp) {
  Dispatcher dispatcher({queue_of(DeviceKind::kCpu, 0.1, 0, 9)}, by_depth());
  offer_some(dispatcher, 1, 2, 0);
  dispatcher.begin(0, 0);
  offer_some(dispatcher, 3, 1, 0);
  EXPECT_EQ(dispatcher.give_up(0, 1), (Ids{1, 2}));
  EXPECT_EQ(dispatcher.statistics(0).failures, 1u);
  EXPECT_EQ(dispatcher.statistics(0).held, 1u);
  EXPECT_EQ(dispatcher.begin(0, 1), Ids{3});
}

TEST(Dispatcher, PartsABatchIntoQueriesByThemselves) {
  Dispatcher dispatcher({queue_of(DeviceKind::kCpu, 0.1, 0, 9)}, by_depth());
  offer_some(dispatcher, 1, 3, 0);
  dispatcher.begin(0, 0);
  offer_some(dispatcher, 4, 2, 0);
  dispatcher.part(0, 0.1);
  EXPECT_EQ(dispatcher.statistics(0).held, 5u);
  for (const Ids& batch : {Ids{1}, Ids{2}, Ids{3}, Ids{4, 5}}) {
    EXPECT_EQ(dispatcher.begin(0, 0.1), batch);
    dispatcher.finish(0, 0.1);
  }
}

TEST(Dispatcher, LeavesAFailedDeviceOutUntilAProbeGoesWell) {
  DispatchOptions options = by_depth();
  options.first_probe = 5;
  options.last_probe = 15;
  Dispatcher dispatcher(
      {queue_of(DeviceKind::kAccelerator, 0.1, 0, 9), queue_of(DeviceKind::kCpu, 0.1, 0, 2)},
      options);
  offer_some(dispatcher, 1, 2, 0);
  dispatcher.begin(0, 0);
  offer_some(dispatcher, 3, 2, 0);
  EXPECT_EQ(dispatcher.fail(0, 1), (Ids{1, 2, 3, 4}));
  EXPECT_EQ(dispatcher.statistics(0).held, 0u);
  EXPECT_EQ(offer_some(dispatcher, 1, 3, 1), (std::vector<int>{1, 1, -1}));
  EXPECT_EQ(dispatcher.begin(0, 1), Ids{});
  EXPECT_FALSE(dispatcher.probe_due(0, 5.9));
  EXPECT_TRUE(dispatcher.probe_due(0, 6));
  EXPECT_EQ(dispatcher.wake_at(0), 6);
  dispatcher.probed(0, 6, std::nullopt, 0);
  EXPECT_FALSE(dispatcher.probe_due(0, 15.9));
  EXPECT_TRUE(dispatcher.probe_due(0, 16));
  dispatcher.probed(0, 16, std::nullopt, 0);
  EXPECT_TRUE(dispatcher.probe_due(0, 31));  // the gap is at most 15 seconds
  dispatcher.probed(0, 31, 0.1, 1);
  EXPECT_TRUE(dispatcher.up(0));
  EXPECT_EQ(offer_some(dispatcher, 10, 1, 31), (std::vector<int>{0}));
}

TEST(Dispatcher, OffersAQueryOnlyOnceToADeviceThatRefusedIt) {
  Dispatcher dispatcher(
      {queue_of(DeviceKind::kAccelerator, 0.1, 0, 9), queue_of(DeviceKind::kCpu, 0.1, 0, 9)},
      by_depth());
  EXPECT_EQ(dispatcher.offer(query_of(1, 1, 1), 0, 1).device, 1u);
  EXPECT_EQ(dispatcher.offer(query_of(2, 1, 1), 0, 3).admitted, Admitted::kBusy);
}

DispatchOptions gathering(Admission admission) {
  DispatchOptions options = admission == Admission::kDepth ? by_depth() : by_deadline();
  options.gather = 0.01;
  return options;
}

TEST(Dispatcher, GathersWhatIsOfferedToAnIdleDevice) {
  for (Admission admission : {Admission::kDepth, Admission::kDeadline}) {
    Dispatcher dispatcher({queue_of(DeviceKind::kCpu, 0.05, 0.1, 9)}, gathering(admission));
    offer_some(dispatcher, 1, 2, 0);
    EXPECT_EQ(dispatcher.begin(0, 0), Ids{});
    EXPECT_EQ(dispatcher.wake_at(0), 0.01);
    // The query's batch begins in 0.002 s and takes 0.2 s.
    EXPECT_NEAR(dispatcher.offer(query_of(9, 9, 0.3), 0.008).retry_after, 0.202, 1e-12);
    offer_some(dispatcher, 3, 1, 0.009);
    EXPECT_EQ(dispatcher.begin(0, 0.01), (Ids{1, 2, 3}));
    offer_some(dispatcher, 4, 1, 0.2);
    dispatcher.finish(0, 0.26);
    EXPECT_EQ(dispatcher.begin(0, 0.26), Ids{4}) << "who waited for a batch gathers no more";
    dispatcher.finish(0, 0.41);
    offer_some(dispatcher, 5, 1, 0.5);
    EXPECT_EQ(dispatcher.wake_at(0), 0.51);
  }
}

TEST(Dispatcher, GathersASmallPartOfTheObjective) {
  DispatchOptions options = by_depth();
  options.slo = 0.1;
  options.gather = 1;
  Dispatcher dispatcher({queue_of(DeviceKind::kCpu, 0.001, 0, 9)}, options);
  dispatcher.offer(query_of(1, 1, 0.1), 0);
  EXPECT_DOUBLE_EQ(dispatcher.wake_at(0), 0.002);
  options.slo = kForever;
  Dispatcher endless({queue_of(DeviceKind::kCpu, 0.001, 0, 9)}, options);
  endless.offer(query_of(1, 1, kForever), 0);
  EXPECT_EQ(endless.begin(0, 0), Ids{1});
}

TEST(Dispatcher, GathersUntilABatchIsFull) {
  QueueOptions queue = queue_of(DeviceKind::kCpu, 0.001, 0, 100);
  queue.batch = 60;
  for (Admission admission : {Admission::kDepth, Admission::kDeadline}) {
    Dispatcher dispatcher({queue}, gathering(admission));
    dispatcher.offer(query_of(1, 20, 1), 0);
    dispatcher.offer(query_of(2, 30, 1), 0);
    EXPECT_EQ(dispatcher.begin(0, 0), (Ids{1, 2})) << "20 tokens more have no room";
    dispatcher.finish(0, 0.05);
    dispatcher.offer(query_of(3, 20, 1), 0.1);
    EXPECT_EQ(dispatcher.begin(0, 0.1), Ids{});
    dispatcher.offer(query_of(4, 50, 1), 0.1);
    EXPECT_EQ(dispatcher.begin(0, 0.1), Ids{3}) << "another batch waits";
  }
}

// A batch of n takes 0.1 n + 0.2 seconds.
TEST(Dispatcher, GathersNothingThatWouldBeLate) {
  Dispatcher dispatcher({queue_of(DeviceKind::kCpu, 0.1, 0.2, 9)}, gathering(Admission::kDeadline));
  offer_some(dispatcher, 1, 6, 0);
  // A batch of seven would end 0.1 s before the deadline, so the six wait for more queries. Eight
  // are the most that can be in time.
  EXPECT_EQ(dispatcher.begin(0, 0), Ids{});
  EXPECT_EQ(offer_some(dispatcher, 7, 3, 0), (std::vector<int>{0, 0, -1}));
  EXPECT_EQ(dispatcher.begin(0, 0).size(), 8u);
  EXPECT_EQ(dispatcher.finish(0, 1), 0u);
  // Another query would be in time until 1.896.
  dispatcher.offer(query_of(20, 1, 2.196), 1.8);
  EXPECT_NEAR(dispatcher.wake_at(0), 1.796, 1e-6);
  EXPECT_EQ(dispatcher.begin(0, 1.8), Ids{20});
}

TEST(Dispatcher, GivesNothingToADeviceThatStalls) {
  Dispatcher dispatcher(
      {queue_of(DeviceKind::kAccelerator, 0.1, 0, 9), queue_of(DeviceKind::kCpu, 0.1, 0, 9)},
      by_depth());
  offer_some(dispatcher, 1, 1, 0);
  dispatcher.begin(0, 0);
  offer_some(dispatcher, 2, 1, 0);
  // The prediction is 0.1 s; the device is stalled after another second, the objective.
  EXPECT_EQ(dispatcher.wake_at(1), 1.1);
  EXPECT_EQ(dispatcher.stalled(1), Ids{});
  EXPECT_EQ(dispatcher.stalled(1.1), Ids{2});
  EXPECT_EQ(dispatcher.wake_at(1), kForever);
  EXPECT_EQ(offer_some(dispatcher, 3, 1, 1.2), (std::vector<int>{1}));
  dispatcher.finish(0, 2);
  EXPECT_EQ(offer_some(dispatcher, 4, 1, 2), (std::vector<int>{0}));
}

}  // namespace
}  // namespace hearth
