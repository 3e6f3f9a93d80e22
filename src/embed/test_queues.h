// Test doubles for queues: devices that do as they are told, a clock that is set by hand, and a
// list of outcomes to wait for.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "embed/queue_manager.h"
#include "embed/sim_device.h"

namespace hearth {

inline constexpr uint32_t kWidth = 4;

class HandClock : public DeviceClock {
 public:
  double now() const override { return now_; }
  void sleep_until(double) override {}
  void set(double now) { now_ = now; }

 private:
  std::atomic<double> now_{0};
};

inline EmbedQuery query_of(int32_t id) { return {"", {id, id + 1}}; }

// A device that runs the test's script on every batch, and records the batches.
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

// A device that is part of the program, so it is never remote.
class OwnDevice : public ScriptedDevice {
 public:
  using ScriptedDevice::ScriptedDevice;
  bool remote() const override { return false; }
};

// Blocks the threads that want to pass until the gate is opened, and tells when a thread waits
// there.
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

// Collects the outcomes of queries by the queries' numbers.
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
  // Returns the outcome of a query that was answered once.
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

inline DispatchOptions by_depth() {
  DispatchOptions options;
  options.admission = Admission::kDepth;
  options.first_probe = 5;
  return options;
}

template <typename Device = ScriptedDevice>
DeviceQueue queue_of(DeviceKind kind, uint64_t slots, ScriptedDevice::Script script,
                     std::string name = "device") {
  return {std::make_unique<Device>(std::move(name), kind, std::move(script)), {1e-3, 1e-3}, slots};
}

template <typename... Queues>
std::vector<DeviceQueue> queues_of(Queues&&... queues) {
  std::vector<DeviceQueue> out;
  (out.push_back(std::forward<Queues>(queues)), ...);
  return out;
}

}  // namespace hearth
