// A profile's rates, and their shares of the limits of the machine.
//
// The least time that an op could take is the longer of two: its bytes at the machine's read
// bandwidth, and its operations at the peaks of their units (Williams, Waterman and Patterson,
// Roofline, 2009). An op's share of the limit is this least time over the time that it kept the
// machine: working and waiting in the barrier after it, as a mean over threads. A figure is 0 if a
// measurement that it needs is missing.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "graph/profile.h"

namespace hearth {

// The limits of all threads of the plan together; 0 if a limit is not known, so that none applies.
struct MachineLimits {
  double bytes_per_second = 0;
  std::array<double, kArithmeticUnits> operations_per_second{};  // by arithmetic unit
};

enum class Bound : uint8_t { kNone, kBandwidth, kArithmetic };

struct OpRate {
  std::string name;
  uint64_t calls = 0;
  double seconds = 0;  // of work and barrier, a mean over threads; of all ops: the wall time
  ProfileTimes share;  // of the wall time, means over threads
  // The largest work time of a thread, less the mean and divided by the mean.
  double imbalance = 0;
  double bytes_per_second = 0;
  double operations_per_second = 0;  // of all units
  double limit_seconds = 0;          // the least time
  double share_of_limit = 0;         // limit_seconds / seconds
  Bound bound = Bound::kNone;        // which of the two is the longer
};

struct ProfileRates {
  std::vector<OpRate> ops;  // as the summary's rows
  OpRate all;               // `calls` are runs; limit_seconds is the sum of the ops'
};

ProfileRates profile_rates(const ProfileSummary& summary, const MachineLimits& limits);

}  // namespace hearth
