// Estimates how deep a device's queue may be (WindVE, Huang et al. 2025, section IV-B2). The time
// of a batch is measured at few sizes, and a line is fitted to the times. The depth is the most
// queries that the line allows within the objective. Then all devices run together, and each depth
// moves until no reply is late (DepthTuner).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "embed/latency_line.h"

namespace hearth {

struct EstimateOptions {
  double slo = 1;              // seconds
  uint32_t concurrencies = 6;  // sizes of batches that are measured, at most
  uint32_t repetitions = 3;    // measurements of each size
  uint32_t most = 1024;        // queries of a batch
};

// The estimate of a device, in queries of one length.
struct Estimate {
  LatencyLine line;
  uint64_t depth = 0;  // 0: one query alone takes longer than the objective (equation 11)
  std::vector<LatencySample> samples;
};

// `measure` runs a batch of `count` queries and returns its seconds. The sizes are 1, 4, 16 and so
// on while the time is far from the objective, and then those that the line gives for the
// objective.
Estimate estimate_depth(const std::function<double(uint32_t count)>& measure,
                        const EstimateOptions& options);

// Depths of several devices, tuned while all run. In each round all take a batch of their depth at
// one moment. A device's longest time decides whether its depth falls, by half at most, or may
// rise. A depth with which a device was late is never tried again, so the rounds come to an end.
class DepthTuner {
 public:
  struct Device {
    LatencyLine line;
    uint64_t depth = 0;
  };
  DepthTuner(std::vector<Device> devices, double slo, uint64_t most);

  // Returns the depth of each device in the next round.
  const std::vector<uint64_t>& depths() const { return depths_; }
  // Takes the longest time of each device in that round. Returns whether another round is needed.
  bool record(const std::vector<double>& seconds);
  bool done() const { return done_; }

 private:
  std::vector<Device> devices_;
  // Each device's depth in the next round, the greatest depth that was in time, and the greatest to
  // try.
  std::vector<uint64_t> depths_, held_, most_;
  double slo_;
  bool done_ = false;
};

// Tunes depths by rounds from `start` on until no reply is late, and returns the depths. `round`
// runs batches of these depths and returns the longest time of each device. There is no round if no
// device starts with a depth.
std::vector<uint64_t> tune_depths(
    const std::vector<DepthTuner::Device>& start, double slo, uint64_t most,
    const std::function<std::vector<double>(const std::vector<uint64_t>& depths)>& round);

}  // namespace hearth
