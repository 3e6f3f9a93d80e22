// PairedTrials: decides whether a challenger is faster than an incumbent, by trials of both in
// turns. A disturbance that lasts longer than a trial slows both, and so hardly changes their
// ratio.
//
// The evidence of a pair is the logarithm of the challenger's seconds over the incumbent's. The
// mean of the evidence and its confidence interval (Student's) say how the two compare. The
// challenger wins only if the whole interval lies at 1 % faster or more. The incumbent stays if the
// whole interval lies above that, or if `max_pairs` pairs have not decided.
//
// The verdict is 95 % sure. Several looks at an interval err more often than one. So it is looked
// at only with kMinPairs pairs and at each doubling: four times with 64 pairs. Each look uses an
// interval of 97.5 %, so that all four together err to one side in at most 5 % of cases.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace hearth {

// The ratio of two times, and the ends of its confidence interval.
struct TimeRatio {
  double ratio = 1, low = 1, high = 1;
  bool operator==(const TimeRatio&) const = default;
};

class PairedTrials {
 public:
  static constexpr uint32_t kMinPairs = 8;
  static constexpr double kMinGain = 0.01;
  static constexpr double kWorth = 1 - kMinGain;  // the ratio that a challenger must reach

  enum class Verdict { kOpen, kFalls, kStays };

  explicit PairedTrials(uint32_t max_pairs = 64) : max_pairs_(max_pairs) {}

  // Adds a pair of times in seconds, above 0.
  void add(double incumbent, double challenger);
  uint32_t pairs() const { return pairs_; }
  // Returns challenger's time over incumbent's. With fewer than two pairs the interval is infinite.
  TimeRatio ratio() const;
  Verdict verdict() const;

  // A trial: returns its seconds, or none where it was disturbed (time was stolen).
  using Trial = std::function<std::optional<double>()>;
  // Runs pairs until there is a verdict. The incumbent is first in every other pair. Disturbed
  // trials are repeated, at most kMaxRepeats times in all; after that the incumbent stays. `stop`
  // is asked before every pair, and ends the trials if it returns true.
  static constexpr uint32_t kMaxRepeats = 100;
  Verdict run(
      const Trial& incumbent, const Trial& challenger,
      const std::function<bool()>& stop = [] { return false; });

 private:
  uint32_t max_pairs_;
  uint32_t pairs_ = 0;
  double mean_ = 0, squares_ = 0;  // of the logarithms; sum of squared differences from the mean
};

}  // namespace hearth
