// CPU time of this machine since it started, from the first line of /proc/stat (proc_stat(5)), in
// ticks of all CPUs together. Time is "stolen" while this virtual machine wants a CPU and its host
// runs something else. Time of "others" is time in which other processes of this machine had a CPU.
// Both lower the figures that are measured in that time.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace hearth {

struct CpuTimes {
  uint64_t all = 0;  // idle time included
  uint64_t busy = 0;
  uint64_t stolen = 0;
  uint64_t own = 0;  // the part of `busy` that this process used
};

// Reads text in the form of /proc/stat; returns none if the text does not have the times. `own` is
// left 0.
std::optional<CpuTimes> parse_cpu_times(std::string_view stat);
std::optional<CpuTimes> read_cpu_times();

// Checks whether the host of this virtual machine let a piece of work run undisturbed.
class QuietCheck {
 public:
  QuietCheck();
  // Returns whether at most 1 % of the CPU time since construction was stolen. The CPU time is
  // `seconds` on each of `threads` threads.
  bool quiet(double seconds, uint32_t threads) const;

 private:
  uint64_t stolen_;  // ticks at construction
};

// Parts (0 to 1) of all CPU time between two moments.
struct CpuShares {
  double stolen = 0, others = 0;
};
// Returns the shares; none where a moment is unknown or no time has passed.
std::optional<CpuShares> cpu_shares(const std::optional<CpuTimes>& before,
                                    const std::optional<CpuTimes>& after);

}  // namespace hearth
