// CPU time of this machine since it started, from the first line of /proc/stat (proc_stat(5)), in
// ticks of all CPUs together. Time is "stolen" in which this virtual machine wanted a CPU and its
// host ran something else, and "others'" in which other processes here had one: figures measured
// meanwhile are too low.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace hearth {

struct CpuTimes {
  uint64_t all = 0;  // idle time included
  uint64_t busy = 0;
  uint64_t stolen = 0;
  uint64_t own = 0;  // of busy: this process
};

// Reads a file in the form of /proc/stat; none where it does not tell. `own` is left 0.
std::optional<CpuTimes> parse_cpu_times(std::string_view stat);
std::optional<CpuTimes> read_cpu_times();
// Returns the ticks that were stolen until now; 0 where the system does not tell.
uint64_t stolen_ticks();

// Checks whether the host of this virtual machine let a piece of work run undisturbed.
class QuietCheck {
 public:
  QuietCheck() : stolen_(stolen_ticks()) {}
  // Whether at most one part in a hundred of the time since this was made was stolen, of `seconds`
  // on each of so many threads.
  bool quiet(double seconds, uint32_t threads) const;

 private:
  uint64_t stolen_;
};

// Parts of all CPU time between two moments.
struct CpuShares {
  double stolen = 0, others = 0;
};
// Returns the shares; none where a moment is unknown or no time has passed.
std::optional<CpuShares> cpu_shares(const std::optional<CpuTimes>& before,
                                    const std::optional<CpuTimes>& after);

}  // namespace hearth
