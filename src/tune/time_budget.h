// TimeBudget: until when something may work that is done in trials of some seconds. What is asked
// for before every trial is not only whether the time is over, but whether the trial would end
// within it: a trial that ends up to kOver of the whole time late is still begun, a longer one is
// not. So the time is kept to within that part, as far as callers know how long their trials take.
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

  // A part of what is left, from now on.
  TimeBudget part(double share) const {
    TimeBudget of = *this;
    of.end_ = end_ - (1 - share) * left();
    return of;
  }
  double left() const { return std::max(0.0, end_ - clock_()); }
  // Whether a trial of about so many seconds is not to begin any more.
  bool is_over(double about = 0) const {
    const double now = clock_();
    return now >= end_ || now + about > end_ + late_;
  }

 private:
  Clock clock_;
  double end_, late_;
};

}  // namespace hearth
