// TimeBudget: limits the time of work that is done in trials of some seconds each. It is asked
// before every trial, and told how long the trial is likely to take. The trial may begin if it
// would end late by at most kOver of the whole time. So the work exceeds the time by kOver at most,
// if callers know how long their trials take.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>

#include "base/clock.h"

namespace hearth {

class TimeBudget {
 public:
  using Clock = std::function<double()>;  // seconds since some fixed moment
  static constexpr double kOver = 0.05;

  explicit TimeBudget(double seconds, Clock clock = steady_seconds)
      : clock_(std::move(clock)), end_(clock_() + seconds), late_(kOver * seconds) {}

  // Returns a budget that begins now and has this share of the time left.
  TimeBudget part(double share) const {
    TimeBudget of = *this;
    of.end_ = end_ - (1 - share) * left();
    return of;
  }
  double left() const { return std::max(0.0, end_ - clock_()); }
  // Whether it is too late to begin a trial of about `about` seconds.
  bool is_over(double about = 0) const {
    const double now = clock_();
    return now >= end_ || now + about > end_ + late_;
  }

 private:
  Clock clock_;
  double end_, late_;
};

}  // namespace hearth
