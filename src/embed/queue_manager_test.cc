#include "embed/queue_manager.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "embed/sim_device.h"

namespace hearth {
namespace {

constexpr uint32_t kWidth = 4;

class HandClock : public DeviceClock {
 public:
  double now() const override { return now_; }
  void sleep_until(double) override {}
  void set(double now) { now_ = now; }

 private:
  std::atomic<double> now_{0};
};

EmbedQuery query_of(int32_t id) { return {"", {id, id + 1}}; }

// Does what the test says with every batch, and knows the batches.
class ScriptedDevice : public EmbedDevice {
 public:
  using Script = std::function<void(std::span<const EmbedQuery* const>)>;

  ScriptedDevice(std::string name, DeviceKind kind, Script script)
      : name_(std::move(name)), kind_(kind), script_(std::move(script)) {}

  const std::string& name() const override { return name_; }
  DeviceKind kind() const override { return kind_; }
  uint32_t width() const override { return kWidth; }
  bool remote() const override { return true; }
  std::vector<EmbedVector> run(std::span<const EmbedQuery* const> batch) override {
    script_(batch);
    std::vector<EmbedVector> out;
    for (const EmbedQuery* query : batch) out.push_back(simulated_vector(*query, kWidth));
    return out;
  }

 private:
  std::string name_;
  DeviceKind kind_;
  Script script_;
};

// Holds up who passes until it is opened, and tells when somebody stands before it.
class Gate {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    ++came_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
  }
  void open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void wait_for(int came) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return came_ >= came; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int came_ = 0;
};

// Collects outcomes by number.
class Outcomes {
 public:
  EmbedDone done(size_t index) {
    return [this, index](EmbedOutcome outcome) { take(index, std::move(outcome)); };
  }
  void take(size_t index, EmbedOutcome outcome) {
    std::lock_guard lock(mutex_);
    by_index_[index].push_back(std::move(outcome));
    ++count_;
    changed_.notify_all();
  }
  void wait_for(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return count_ >= count; });
  }
  // Of a query that was answered once.
  const EmbedOutcome& of(size_t index) {
    std::lock_guard lock(mutex_);
    EXPECT_EQ(by_index_[index].size(), 1u);
    return by_index_[index].at(0);
  }
  size_t count() {
    std::lock_guard lock(mutex_);
    return count_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<size_t, std::vector<EmbedOutcome>> by_index_;
  size_t count_ = 0;
};

DispatchOptions by_depth() {
  DispatchOptions options;
  options.admission = Admission::kDepth;
  options.first_probe = 5;
  return options;
}

DeviceQueue queue_of(DeviceKind kind, uint64_t slots, ScriptedDevice::Script script,
                     std::string name = "device") {
  return {std::make_unique<ScriptedDevice>(std::move(name), kind, std::move(script)),
          {1e-3, 1e-3},
          slots};
}

template <typename... Queues>
std::vector<DeviceQueue> queues_of(Queues&&... queues) {
  std::vector<DeviceQueue> out;
  (out.push_back(std::forward<Queues>(queues)), ...);
  return out;
}

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

TEST(QueueManager, MovesTheQueriesOfAFailedDevice) {
  HandClock clock;
  Gate gate;
  Outcomes outcomes;
  auto fails = [&](auto) {
    gate.pass();
    fail(ErrorCode::kResource, "the cable was cut");
  };
  // The other one has room for two of the three.
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
  class Own : public ScriptedDevice {
   public:
    using ScriptedDevice::ScriptedDevice;
    bool remote() const override { return false; }
  };
  HandClock clock;
  Outcomes outcomes;
  std::vector<DeviceQueue> queues;
  auto script = [](auto batch) {
    if (batch[0]->tokens[0] == 0) throw std::bad_alloc();
  };
  queues.push_back({std::make_unique<Own>("own", DeviceKind::kCpu, script), {1e-3, 1e-3}, 100});
  QueueManager manager(std::move(queues), by_depth(), clock);
  manager.submit(query_of(0), outcomes.done(0));
  outcomes.wait_for(1);
  ASSERT_TRUE(outcomes.of(0).error);
  EXPECT_EQ(outcomes.of(0).error->code(), ErrorCode::kResource);
  manager.submit(query_of(1), outcomes.done(1));
  outcomes.wait_for(2);
  EXPECT_EQ(outcomes.of(1).vector, simulated_vector(query_of(1), kWidth));
}

TEST(QueueManager, OffersATextToOthersThanTheDeviceThatFailedWithIt) {
  class Own : public ScriptedDevice {
   public:
    using ScriptedDevice::ScriptedDevice;
    bool remote() const override { return false; }
  };
  HandClock clock;
  Outcomes outcomes;
  std::vector<DeviceQueue> queues;
  auto fails = [](auto) { fail(ErrorCode::kResource, "no memory"); };
  queues.push_back(
      {std::make_unique<Own>("first", DeviceKind::kAccelerator, fails), {1e-3, 1e-3}, 100});
  queues.push_back(queue_of(
      DeviceKind::kCpu, 100, [](auto) {}, "second"));
  QueueManager manager(std::move(queues), by_depth(), clock);
  manager.submit(query_of(0), outcomes.done(0));
  outcomes.wait_for(1);
  EXPECT_EQ(outcomes.of(0).device, "second");
  EXPECT_TRUE(manager.statistics()[0].up);
}

TEST(QueueManager, TakesAWrongNumberOfVectorsForAFailure) {
  class Short : public ScriptedDevice {
   public:
    using ScriptedDevice::ScriptedDevice;
    bool remote() const override { return true; }
    std::vector<EmbedVector> run(std::span<const EmbedQuery* const>) override { return {}; }
  };
  HandClock clock;
  Outcomes outcomes;
  std::vector<DeviceQueue> queues;
  queues.push_back(
      {std::make_unique<Short>("short", DeviceKind::kCpu, [](auto) {}), {1e-3, 1e-3}, 100});
  QueueManager manager(std::move(queues), by_depth(), clock);
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

TEST(QueueManager, GivesUpWaitingWhereNoDeviceComesBack) {
  HandClock clock;
  Outcomes outcomes;
  QueueManager manager(queues_of(queue_of(DeviceKind::kCpu, 100,
                                          [&](auto) { fail(ErrorCode::kResource, "broken"); })),
                       by_depth(), clock);
  manager.submit(query_of(0), outcomes.done(0));
  outcomes.wait_for(1);
  clock.set(70);
  EXPECT_THROW(manager.submit_waiting(query_of(1), outcomes.done(1)), Error);
  EXPECT_THROW(manager.submit_waiting({"", std::vector<int32_t>(101)}, outcomes.done(2)), Error);
  EXPECT_EQ(outcomes.count(), 1u);
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

// Clients on four threads, three devices of which two fail now and then, on real time; whatever
// happens every query is answered once, with its own vector or BUSY.
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
