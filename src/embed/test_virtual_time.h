// Queues in virtual time, for tests: queries arrive at given moments, devices take the time of
// their lines, and no real time passes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <mutex>
#include <random>
#include <vector>

#include "embed/device_clock.h"
#include "embed/dispatcher.h"
#include "embed/sim_device.h"

namespace hearth {

// A clock that jumps when a thread sleeps; it serves one device at a time.
class JumpingClock : public DeviceClock {
 public:
  double now() const override {
    std::lock_guard lock(mutex_);
    return now_;
  }
  void sleep_until(double moment) override {
    std::lock_guard lock(mutex_);
    now_ = std::max(now_, moment);
  }

 private:
  mutable std::mutex mutex_;
  double now_ = 0;
};

struct VirtualDevice {
  DeviceKind kind;
  SimOptions sim;
};

struct VirtualArrival {
  double moment;
  uint64_t tokens;
};

struct VirtualResult {
  uint64_t offered = 0, accepted = 0, in_time = 0;
  std::vector<DeviceStatistics> devices;
  double seconds = 0;

  double rate() const { return static_cast<double>(accepted) / seconds; }
  double share_in_time() const {
    return static_cast<double>(in_time) / static_cast<double>(accepted);
  }
};

inline std::vector<VirtualArrival> poisson_arrivals(double rate, double seconds, uint64_t tokens,
                                                    uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<VirtualArrival> out;
  for (double at = 0;;) {
    at -= std::log1p(-static_cast<double>(random() >> 11) * 0x1p-53) / rate;
    if (at > seconds) return out;
    out.push_back({at, tokens});
  }
}

inline QueueOptions virtual_queue(const VirtualDevice& device, double slo) {
  LatencyLine line{device.sim.alpha, device.sim.beta};
  QueueOptions queue;
  queue.kind = device.kind;
  queue.line = line.per(device.sim.tokens);
  queue.slots = depth_within(line, slo, 1u << 20) * device.sim.tokens;
  return queue;
}

inline VirtualResult run_virtually(const std::vector<VirtualDevice>& devices,
                                   const DispatchOptions& options,
                                   const std::vector<VirtualArrival>& arrivals) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  std::vector<QueueOptions> queues;
  std::vector<SimTime> times;
  for (const VirtualDevice& device : devices) {
    queues.push_back(virtual_queue(device, options.slo));
    times.emplace_back(device.sim);
  }
  Dispatcher dispatcher(queues, options);
  std::vector<double> ends(devices.size(), kNever);
  VirtualResult result;
  size_t next = 0;
  double now = 0;
  while (true) {
    double soonest = next < arrivals.size() ? arrivals[next].moment : kNever;
    size_t who = devices.size();
    for (size_t i = 0; i < devices.size(); ++i) {
      if (ends[i] <= soonest) soonest = ends[who = i];
    }
    // The next event may be that an idle device begins the batch that it gathered.
    for (size_t i = 0; i < devices.size(); ++i) {
      double wakes = dispatcher.wake_at(i);
      if (ends[i] == kNever && wakes > now && wakes < soonest) {
        soonest = wakes;
        who = devices.size() + 1;
      }
    }
    if (soonest == kNever) break;
    now = soonest;
    if (who < devices.size()) {
      dispatcher.finish(who, now);
      ends[who] = kNever;
    } else if (who == devices.size()) {
      DispatchResult offer =
          dispatcher.offer({next, arrivals[next].tokens, now + options.slo, next}, now);
      result.accepted += offer.admitted == Admitted::kAccepted ? 1 : 0;
      ++next;
    }
    for (size_t i = 0; i < devices.size(); ++i) {
      if (ends[i] != kNever) continue;
      uint64_t tokens = 0;
      for (uint64_t id : dispatcher.begin(i, now)) tokens += arrivals[id].tokens;
      if (tokens > 0) ends[i] = now + times[i].seconds(tokens);
    }
  }
  result.offered = arrivals.size();
  result.seconds = now;
  for (size_t i = 0; i < devices.size(); ++i) {
    result.devices.push_back(dispatcher.statistics(i));
    result.in_time += result.devices[i].done - result.devices[i].late;
  }
  return result;
}

inline SimOptions sim_of(double alpha, double beta, double noise = 0, uint64_t seed = 0) {
  SimOptions out;
  out.alpha = alpha;
  out.beta = beta;
  out.noise = noise;
  out.seed = seed;
  return out;
}

// The paper's devices, with the lines fitted in its figure 4.
inline const VirtualDevice kV100{DeviceKind::kAccelerator, sim_of(0.018, 0.27)};
inline const VirtualDevice kXeon{DeviceKind::kCpu, sim_of(0.084, 0.32)};
inline const VirtualDevice kAtlas{DeviceKind::kAccelerator, sim_of(0.0090, 0.24)};
inline const VirtualDevice kKunpeng{DeviceKind::kCpu, sim_of(0.075, 0.85)};

}  // namespace hearth
