// Tests the queue manager when devices fail, or memory is short.
#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <random>
#include <thread>
#include <vector>

#include "embed/queue_manager.h"
#include "embed/test_queues.h"

namespace hearth {
namespace {

TEST(QueueManager, MovesTheQueriesOfAFailedDevice) {
  HandClock clock;
  Gate gate;
  Outcomes outcomes;
  auto fails = [&](auto) {
    gate.pass();
    fail(ErrorCode::kResource, "the cable was cut");
  };
  // The other device has room for two of the three queries.
  QueueManager manager(queues_of(queue_of(DeviceKind::kAccelerator, 100, fails, "far"),
                                 queue_of(
                                     DeviceKind::kCpu, 4, [](auto) {}, "near")),
                       by_depth(), clock);
  auto take = [&](size_t index, EmbedOutcome outcome) { outcomes.take(index, std::move(outcome)); };
  manager.submit_all({query_of(0), query_of(1), query_of(2)}, take);
  gate.open();
  outcomes.wait_for(3);
  for (int i : {0, 1}) {
    EXPECT_EQ(outcomes.of(i).vector, simulated_vector(query_of(i), kWidth));
    EXPECT_EQ(outcomes.of(i).device, "near");
  }
  ASSERT_TRUE(outcomes.of(2).error);
  EXPECT_EQ(outcomes.of(2).error->code(), ErrorCode::kBusy);
  EXPECT_NE(std::string(outcomes.of(2).error->what()).find("the cable was cut"), std::string::npos);
  EXPECT_FALSE(manager.statistics()[0].up);
}

TEST(QueueManager, GoesOnWithADeviceOfItsOwnThatFailedOnce) {
  HandClock clock;
  Outcomes outcomes;
  auto script = [](auto batch) {
    if (batch[0]->tokens[0] == 0) throw std::bad_alloc();
  };
  QueueManager manager(queues_of(queue_of<OwnDevice>(DeviceKind::kCpu, 100, script)), by_depth(),
                       clock);
  manager.submit(query_of(0), outcomes.done(0));
  outcomes.wait_for(1);
  ASSERT_TRUE(outcomes.of(0).error);
  EXPECT_EQ(outcomes.of(0).error->code(), ErrorCode::kResource);
  manager.submit(query_of(1), outcomes.done(1));
  outcomes.wait_for(2);
  EXPECT_EQ(outcomes.of(1).vector, simulated_vector(query_of(1), kWidth));
}

TEST(QueueManager, OffersATextToOthersThanTheDeviceThatFailedWithIt) {
  HandClock clock;
  Outcomes outcomes;
  auto fails = [](auto) { fail(ErrorCode::kResource, "no memory"); };
  QueueManager manager(queues_of(queue_of<OwnDevice>(DeviceKind::kAccelerator, 100, fails, "first"),
                                 queue_of(
                                     DeviceKind::kCpu, 100, [](auto) {}, "second")),
                       by_depth(), clock);
  manager.submit(query_of(0), outcomes.done(0));
  outcomes.wait_for(1);
  EXPECT_EQ(outcomes.of(0).device, "second");
  EXPECT_TRUE(manager.statistics()[0].up);
}

TEST(QueueManager, TakesAWrongNumberOfVectorsForAFailure) {
  class Short : public ScriptedDevice {
   public:
    using ScriptedDevice::ScriptedDevice;
    std::vector<EmbedVector> run(std::span<const EmbedQuery* const>) override { return {}; }
  };
  HandClock clock;
  Outcomes outcomes;
  QueueManager manager(queues_of(queue_of<Short>(DeviceKind::kCpu, 100, [](auto) {})), by_depth(),
                       clock);
  manager.submit(query_of(0), outcomes.done(0));
  outcomes.wait_for(1);
  ASSERT_TRUE(outcomes.of(0).error);
  EXPECT_EQ(outcomes.of(0).error->code(), ErrorCode::kBusy);
}

TEST(QueueManager, UsesADeviceAgainThatAnswersAProbe) {
  HandClock clock;
  Outcomes outcomes;
  std::atomic<bool> broken{true};
  QueueManager manager(queues_of(queue_of(DeviceKind::kCpu, 100,
                                          [&](auto) {
                                            if (broken) fail(ErrorCode::kResource, "broken");
                                          })),
                       by_depth(), clock);
  manager.submit(query_of(0), outcomes.done(0));
  outcomes.wait_for(1);
  EXPECT_TRUE(outcomes.of(0).error);
  EXPECT_EQ(manager.submit(query_of(1), outcomes.done(1)).admitted, Admitted::kBusy);
  broken = false;
  clock.set(5);
  manager.submit_waiting(query_of(2), outcomes.done(2));
  outcomes.wait_for(2);
  EXPECT_EQ(outcomes.of(2).vector, simulated_vector(query_of(2), kWidth));
}

// A manager whose only device has failed with the first query.
class QueueManagerWithoutDevices : public testing::Test {
 protected:
  QueueManagerWithoutDevices() {
    manager_.submit(query_of(0), outcomes_.done(0));
    outcomes_.wait_for(1);
  }

  HandClock clock_;
  Outcomes outcomes_;
  QueueManager manager_{queues_of(queue_of(DeviceKind::kCpu, 100,
                                           [](auto) { fail(ErrorCode::kResource, "broken"); })),
                        by_depth(), clock_};
};

TEST_F(QueueManagerWithoutDevices, GivesUpWaitingWhereNoDeviceComesBack) {
  clock_.set(70);
  EXPECT_THROW(manager_.submit_waiting(query_of(1), outcomes_.done(1)), Error);
  EXPECT_THROW(manager_.submit_waiting({"", std::vector<int32_t>(101)}, outcomes_.done(2)), Error);
  EXPECT_EQ(outcomes_.count(), 1u);
}

TEST_F(QueueManagerWithoutDevices, StopsWaitingForRoomWhenAsked) {
  int asked = 0;
  auto third_time = [&] { return ++asked == 3; };
  EXPECT_FALSE(manager_.submit_waiting(query_of(1), outcomes_.done(1), kPatience, third_time));
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(outcomes_.count(), 1u);
}

// A device whose queue's thread fails outside of run().
class NamelessDevice : public OwnDevice {
 public:
  using OwnDevice::OwnDevice;
  const std::string& name() const override {
    if (nameless) throw std::bad_alloc();
    return OwnDevice::name();
  }
  std::atomic<bool> nameless{false};
};

TEST(QueueManager, BearsAThreadThatFailsOutsideOfItsDevice) {
  HandClock clock;
  Outcomes outcomes;
  Gate gate;
  DeviceQueue queue = queue_of<NamelessDevice>(DeviceKind::kCpu, 100, [&](auto) { gate.pass(); });
  auto& device = static_cast<NamelessDevice&>(*queue.device);
  QueueManager manager(queues_of(std::move(queue), queue_of(
                                                       DeviceKind::kCpu, 2, [](auto) {}, "near")),
                       by_depth(), clock);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(manager.submit(query_of(i), outcomes.done(i)).admitted, Admitted::kAccepted);
  }
  gate.wait_for(1);
  device.nameless = true;
  gate.open();
  outcomes.wait_for(3);
  // The other device has room for one query at a time: the one that is offered first.
  EXPECT_EQ(outcomes.of(0).device, "near");
  for (int i : {0, 1, 2}) {
    if (outcomes.of(i).device == "near") {
      EXPECT_EQ(outcomes.of(i).vector, simulated_vector(query_of(i), kWidth));
      continue;
    }
    ASSERT_TRUE(outcomes.of(i).error);
    EXPECT_TRUE(outcomes.of(i).no_memory);
    EXPECT_NE(std::string(outcomes.of(i).error->what()).find("memory is short"), std::string::npos);
  }
  // The device goes on, since only the queries were at fault.
  EXPECT_TRUE(manager.statistics()[0].up);
  device.nameless = false;
  manager.submit(query_of(3), outcomes.done(3));
  outcomes.wait_for(4);
  EXPECT_EQ(outcomes.of(3).device, "device");
}

// A clock that throws std::bad_alloc at those calls that a plan names.
class ShortClock : public HandClock {
 public:
  double now() const override {
    if (plan_.empty()) return HandClock::now();
    const bool is_short = plan_.back();
    plan_.pop_back();
    if (is_short) throw std::bad_alloc();
    return HandClock::now();
  }
  // Sets which of the next calls of now() throw; the plan is used from its end on. No other thread
  // may call now() during that call.
  void fall_short(std::vector<bool> plan) { plan_ = std::move(plan); }

 private:
  mutable std::vector<bool> plan_;
};

TEST(QueueManager, KeepsQueriesThatComeWhileOthersFailForMemory) {
  ShortClock clock;
  Gate gate;
  Outcomes outcomes;
  QueueManager manager(queues_of(queue_of(DeviceKind::kCpu, 100, [&](auto) { gate.pass(); })),
                       by_depth(), clock);
  manager.submit(query_of(0), outcomes.done(0));
  gate.wait_for(1);
  EmbedDone told = outcomes.done(1);
  manager.submit(query_of(1), [&](EmbedOutcome outcome) {
    manager.submit(query_of(3), outcomes.done(3));
    told(std::move(outcome));
  });
  manager.submit(query_of(2), outcomes.done(2));
  // Two calls fail first, when the batch has ended and when it is to be given up, so that it is
  // dropped. A third fails when the thread looks again, so that the waiting queries are dropped.
  clock.fall_short({true, false, true, true});
  gate.open();
  outcomes.wait_for(4);
  for (int i : {0, 1, 2}) EXPECT_TRUE(outcomes.of(i).no_memory) << i;
  EXPECT_EQ(outcomes.of(3).vector, simulated_vector(query_of(3), kWidth));
}

// The thread waits a moment for memory after the shortage.
TEST(QueueManager, EndsRightAfterMemoryWasShort) {
  ShortClock clock;
  Gate gate;
  Outcomes outcomes;
  QueueManager manager(queues_of(queue_of(DeviceKind::kCpu, 100, [&](auto) { gate.pass(); })),
                       by_depth(), clock);
  manager.submit(query_of(0), outcomes.done(0));
  gate.wait_for(1);
  clock.fall_short({true, true});
  gate.open();
  outcomes.wait_for(1);
  EXPECT_TRUE(outcomes.of(0).no_memory);
}

TEST(QueueManager, KeepsAServerElsewhereThatItHadNoMemoryToAsk) {
  HandClock clock;
  Outcomes outcomes;
  auto script = [](auto batch) {
    if (batch[0]->tokens[0] == 0) throw std::bad_alloc();
  };
  QueueManager manager(queues_of(queue_of(DeviceKind::kAccelerator, 100, script)), by_depth(),
                       clock);
  manager.submit(query_of(0), outcomes.done(0));
  outcomes.wait_for(1);
  EXPECT_TRUE(outcomes.of(0).no_memory);
  ASSERT_EQ(manager.submit(query_of(1), outcomes.done(1)).admitted, Admitted::kAccepted);
  outcomes.wait_for(2);
  EXPECT_EQ(outcomes.of(1).vector, simulated_vector(query_of(1), kWidth));
}

TEST(QueueManager, AThrowingCallbackDoesNotKeepOthersFromTheirResult) {
  HandClock clock;
  Gate gate;
  Outcomes outcomes;
  QueueManager manager(queues_of(queue_of(DeviceKind::kCpu, 100, [&](auto) { gate.pass(); })),
                       by_depth(), clock);
  manager.submit(query_of(0), outcomes.done(0));
  gate.wait_for(1);
  manager.submit(query_of(1), [](EmbedOutcome) { throw std::bad_alloc(); });
  manager.submit(query_of(2), outcomes.done(2));
  gate.open();
  outcomes.wait_for(2);
  EXPECT_EQ(outcomes.of(2).vector, simulated_vector(query_of(2), kWidth));
}

// Clients on four threads, and three devices of which two sometimes fail, on real time. Every query
// must be answered once, with its own vector or BUSY.
TEST(QueueManager, LosesAndDoublesNothingUnderFailuresOnManyThreads) {
#ifdef HEARTH_FEW_ROUNDS
  constexpr int kQueries = 300;
#else
  constexpr int kQueries = 2000;
#endif
  constexpr int kClients = 4;
  SteadyClock clock;
  auto flaky = [](uint64_t seed) {
    return [random = std::mt19937_64(seed)](auto batch) mutable {
      if (random() % 8 == 0) fail(ErrorCode::kResource, "it failed");
      if (batch.size() > 1 && random() % 8 == 0) fail(ErrorCode::kRequest, "a text is bad");
    };
  };
  DispatchOptions options = by_depth();
  options.first_probe = options.last_probe = 1e-3;
  options.slo = 1;
  options.gather = 1e-4;
  std::vector<std::atomic<int>> answers(kClients * kQueries);
  std::atomic<uint64_t> accepted{0}, vectors{0}, wrong{0};
  {
    QueueManager manager(queues_of(queue_of(DeviceKind::kAccelerator, 20, flaky(1), "a"),
                                   queue_of(DeviceKind::kAccelerator, 20, flaky(2), "b"),
                                   queue_of(
                                       DeviceKind::kCpu, 40, [](auto) {}, "c")),
                         options, clock);
    std::vector<std::thread> clients;
    for (int client = 0; client < kClients; ++client) {
      clients.emplace_back([&, client] {
        for (int i = client * kQueries; i < (client + 1) * kQueries; ++i) {
          auto done = [&, i](EmbedOutcome outcome) {
            ++answers[i];
            if (outcome.error) return;
            ++vectors;
            if (outcome.vector != simulated_vector(query_of(i), kWidth)) ++wrong;
          };
          if (i % 2 == 0) {
            manager.submit_waiting(query_of(i), done);
            ++accepted;
            continue;
          }
          SubmitResult result = manager.submit(query_of(i), done);
          if (result.admitted != Admitted::kAccepted) continue;
          bool cancelled = i % 16 == 1 && manager.cancel(result.ticket) > 0;
          if (cancelled) {
            ++answers[i];
          }
          ++accepted;
        }
      });
    }
    for (std::thread& client : clients) client.join();
  }
  uint64_t answered = 0;
  for (std::atomic<int>& count : answers) {
    EXPECT_LE(count, 1);
    answered += count;
  }
  EXPECT_EQ(answered, accepted);
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(vectors, 0u);
}

}  // namespace
}  // namespace hearth
