// The time that a device takes for a batch, and how much it can hold within a time (WindVE, Huang
// et al. 2025, equations 7, 8 and 12): t = alpha x + beta with alpha, beta >= 0, for x queries of
// equal length or, in the queues, for x tokens.
#pragma once

#include <cstdint>
#include <span>

namespace hearth {

// The tokens of the texts that devices are measured with, as in the paper.
inline constexpr uint32_t kProbeTokens = 75;

struct LatencyLine {
  double alpha = 0;  // seconds for each query or token
  double beta = 0;   // seconds for a batch

  double seconds(double count) const { return alpha * count + beta; }
  // Returns the line for a smaller unit, of which `parts` make one of the present unit.
  LatencyLine per(double parts) const { return {alpha / parts, beta}; }
};

struct LatencySample {
  double count = 0, seconds = 0;
};

// Returns the line with the least sum of squared relative distances from the samples, among those
// with alpha, beta >= 0: noise grows with the time that a batch takes. It needs a sample. If all
// samples have one count, the line goes through zero.
LatencyLine fit_latency(std::span<const LatencySample> samples);

// Returns the most that a batch may hold to take at most `seconds`: floor((seconds - beta) /
// alpha). It is 0 if a batch of one takes longer (equation 11), and at most `most`. A quotient that
// only rounding puts below a whole number counts as that number.
uint64_t depth_within(const LatencyLine& line, double seconds, uint64_t most);

}  // namespace hearth
