// Measures how many texts devices embed within an objective, alone and together, as WindVE does
// (Huang et al. 2025, section V). The loop is closed: C texts come at one moment, and the next C
// come when all are answered. The concurrency is the largest C for which all are answered in time.
// Also measures arrivals at random moments (Poisson), and the cost of the queues themselves.
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
  // Makes a query of `tokens` tokens. Each `number` gives another text.
  std::function<EmbedQuery(uint32_t tokens, uint64_t number)> query;
  std::function<bool()> interrupted = [] { return false; };
  std::function<void(std::string_view doing)> progress = [](std::string_view) {};
};

// Figures of one device at one length and objective, in texts.
struct EmbedConcurrency {
  std::string device;
  DeviceKind kind = DeviceKind::kCpu;
  LatencyLine line;        // seconds as a function of the number of texts
  uint64_t estimated = 0;  // the concurrency that the line predicts
  uint64_t alone = 0, together = 0;
};

struct EmbedCase {
  uint32_t length = 0;  // tokens
  double slo = 0;
  std::vector<EmbedConcurrency> devices;

  uint64_t alone() const;
  uint64_t together() const;
  // Returns the sum of the accelerators' concurrencies; 0 where there is no accelerator.
  uint64_t accelerators() const;
  // Returns how many texts a second could be answered in time if they came evenly. A text waits for
  // one batch and runs in the next, so a batch may take half the objective.
  double capacity() const;
};

struct EmbedArrivals {
  uint32_t length = 0;
  double slo = 0, rate = 0;  // the objective in seconds; texts a second that were sent
  Admission admission = Admission::kDeadline;
  uint64_t offered = 0, accepted = 0, answered = 0, in_time = 0;
  double seconds = 0;   // from the start to the last answer
  Percentiles latency;  // seconds from when a text was due to its answer
  std::vector<DeviceStatistics> devices;
};

// The cost of the queues for each text, without the time of its device. It is measured with queues
// over devices that take no time.
struct EmbedDispatch {
  uint64_t texts = 0;
  Percentiles submit, round_trip;  // seconds; `round_trip` lasts from the offer to the answer
};

class EmbedBench {
 public:
  // The devices, the clock and the hooks outlive this.
  EmbedBench(std::vector<EmbedDevice*> devices, DeviceClock& clock, EmbedBenchHooks hooks);

  // Measures texts of one length, each round `repetitions` times. An interrupted case is
  // incomplete.
  EmbedCase measure(uint32_t length, double slo, uint32_t repetitions);
  // Sends texts of the case's length at random moments. The queues have the case's depths and
  // lines.
  EmbedArrivals arrivals(const EmbedCase& one, Admission admission, double rate, double seconds,
                         uint64_t seed);

 private:
  std::vector<double> round(const EmbedCase& one, const std::vector<uint64_t>& depths,
                            uint32_t repetitions);
  Estimate estimate(size_t device, uint32_t length, double slo);

  std::vector<EmbedDevice*> devices_;
  DeviceClock& clock_;
  EmbedBenchHooks hooks_;
  uint64_t made_ = 0;  // number of queries made so far
};

EmbedDispatch measure_dispatch(DeviceClock& clock, uint64_t texts);

}  // namespace hearth
