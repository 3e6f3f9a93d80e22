// PairedTrials decides whether a challenger is faster than an incumbent, by trials of both in
// turns: what disturbs a machine for longer than a trial disturbs both, and drops out of their
// ratio.
//
// A pair's evidence is the logarithm of challenger's over incumbent's seconds. Their mean and its
// confidence interval (Student's) say how the two compare. The incumbent falls only where the whole
// interval lies at 1 % faster or more; it stays where the whole interval lies above that, or where
// `most_pairs` pairs have not decided.
//
// The verdict is 95 % sure. An interval that is looked at again and again errs more often than one
// look does: it is looked at with kLeastPairs pairs and at each doubling, four times with 64 pairs,
// and is one of 97.5 %, so that all four err to one side in 5 % at most.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace hearth {

// A time as a part of another, and the ends of the interval that holds it.
struct TimeRatio {
  double ratio = 1, low = 1, high = 1;
  bool operator==(const TimeRatio&) const = default;
};

class PairedTrials {
 public:
  static constexpr uint32_t kLeastPairs = 8;
  static constexpr double kLeastGain = 0.01;
  static constexpr double kWorth = 1 - kLeastGain;  // the cost of what gains that

  enum class Verdict { kOpen, kFalls, kStays };

  explicit PairedTrials(uint32_t most_pairs = 64) : most_pairs_(most_pairs) {}

  // Adds a pair of times in seconds, above 0.
  void add(double incumbent, double challenger);
  uint32_t pairs() const { return pairs_; }
  // Challenger's time over incumbent's; of fewer than two pairs the interval has no ends.
  TimeRatio ratio() const;
  Verdict verdict() const;

  // A trial: its seconds, or none where it was disturbed (time was stolen) and counts for nothing.
  using Trial = std::function<std::optional<double>()>;
  // Runs pairs until there is a verdict, the one first and then the other. A disturbed trial is
  // repeated, at most kMostRepeats times in all: a machine that has no quiet moment leaves what is.
  // `stop` is asked before every pair.
  static constexpr uint32_t kMostRepeats = 100;
  Verdict run(
      const Trial& incumbent, const Trial& challenger,
      const std::function<bool()>& stop = [] { return false; });

 private:
  uint32_t most_pairs_;
  uint32_t pairs_ = 0;
  double mean_ = 0, squares_ = 0;  // of the logarithms; squares of what they are off their mean
};

}  // namespace hearth
