// How many texts devices embed within an objective, alone and together, as WindVE measures it
// (Huang et al. 2025, section V): a closed loop, in which so many texts come at one moment and the
// next ones when all are answered; the concurrency is the most of them that all come back in time.
// Beside it arrivals at random moments (Poisson), and what the queues themselves cost.
//
// Errors: those of the devices.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/percentiles.h"
#include "embed/device.h"
#include "embed/device_clock.h"
#include "embed/dispatcher.h"
#include "embed/estimator.h"

namespace hearth {

struct EmbedBenchHooks {
  // Makes a query of so many tokens, with another text for each number.
  std::function<EmbedQuery(uint32_t tokens, uint64_t number)> query;
  std::function<bool()> interrupted = [] { return false; };
  std::function<void(std::string_view doing)> progress = [](std::string_view) {};
};

// Figures of one device at one length and objective, in texts.
struct EmbedConcurrency {
  std::string device;
  DeviceKind kind = DeviceKind::kCpu;
  LatencyLine line;        // of texts
  uint64_t estimated = 0;  // by the line
  uint64_t alone = 0, together = 0;
};

struct EmbedCase {
  uint32_t length = 0;  // tokens
  double slo = 0;
  std::vector<EmbedConcurrency> devices;

  uint64_t alone() const;
  uint64_t together() const;
  // Returns the sum over accelerators alone; 0 where there is none.
  uint64_t accelerators() const;
  // Texts a second that could be answered in time if they came evenly: a text waits for a batch and
  // runs in the next, so batches take half the objective.
  double capacity() const;
};

struct EmbedArrivals {
  uint32_t length = 0;
  double slo = 0, rate = 0;  // asked for: texts a second
  Admission admission = Admission::kDeadline;
  uint64_t offered = 0, accepted = 0, answered = 0, in_time = 0;
  double seconds = 0;   // from the start to the last answer
  Percentiles latency;  // of answered ones, from when they were due
  std::vector<DeviceStatistics> devices;
};

// The cost of a text beside its device's time: through queues over devices that take none.
struct EmbedDispatch {
  uint64_t texts = 0;
  Percentiles submit, round_trip;  // seconds; the latter from the offer to the answer
};

class EmbedBench {
 public:
  // The devices, the clock and the hooks outlive this.
  EmbedBench(std::vector<EmbedDevice*> devices, DeviceClock& clock, EmbedBenchHooks hooks);

  // Measures a length, each round `repetitions` times. Cases that somebody interrupted are not
  // whole.
  EmbedCase measure(uint32_t length, double slo, uint32_t repetitions);
  // `depths` and lines as the case has them.
  EmbedArrivals arrivals(const EmbedCase& one, Admission admission, double rate, double seconds,
                         uint64_t seed);

 private:
  std::vector<double> round(const EmbedCase& one, const std::vector<uint64_t>& depths,
                            uint32_t repetitions);
  Estimate estimate(size_t device, uint32_t length, double slo);

  std::vector<EmbedDevice*> devices_;
  DeviceClock& clock_;
  EmbedBenchHooks hooks_;
  uint64_t made_ = 0;  // queries
};

EmbedDispatch measure_dispatch(DeviceClock& clock, uint64_t texts);

}  // namespace hearth
