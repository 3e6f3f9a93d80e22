// A device that takes the time of a line and computes almost nothing: t = (alpha C + beta) times
// noise, where C counts queries of `tokens` tokens. Its vectors depend on the query's tokens, or on
// its text if it has none, so that mixed-up vectors are noticed.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "embed/device.h"
#include "embed/device_clock.h"
#include "embed/latency_line.h"

namespace hearth {

struct SimOptions {
  double alpha = 0.01;  // seconds a query of `tokens` tokens
  double beta = 0.1;    // seconds a batch
  double noise = 0;     // every batch takes a factor from [1 - noise, 1 + noise], evenly drawn
  uint64_t seed = 0;    // seed of the noise
  uint32_t tokens = kProbeTokens;  // how many tokens count as one query
  uint32_t width = 8;              // elements of a vector
};

// The times of a simulated device's batches, with their noise.
class SimTime {
 public:
  explicit SimTime(const SimOptions& options) : options_(options), random_(options.seed) {}
  // Returns the seconds of the next batch, of `tokens` tokens. Draws the noise.
  double seconds(uint64_t tokens);

 private:
  SimOptions options_;
  std::mt19937_64 random_;
};

// Returns the vector that a simulated device gives for a query, of length 1.
EmbedVector simulated_vector(const EmbedQuery& query, uint32_t width);

class SimDevice : public EmbedDevice {
 public:
  // `clock` outlives it.
  SimDevice(std::string name, DeviceKind kind, const SimOptions& options, DeviceClock& clock)
      : name_(std::move(name)), kind_(kind), options_(options), time_(options), clock_(clock) {}

  const std::string& name() const override { return name_; }
  DeviceKind kind() const override { return kind_; }
  uint32_t width() const override { return options_.width; }
  std::vector<EmbedVector> run(std::span<const EmbedQuery* const> batch) override;

 private:
  std::string name_;
  DeviceKind kind_;
  SimOptions options_;
  SimTime time_;
  DeviceClock& clock_;
};

}  // namespace hearth
