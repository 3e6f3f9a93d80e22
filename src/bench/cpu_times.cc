#include "bench/cpu_times.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>

namespace hearth {
namespace {

uint64_t own_ticks() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  return static_cast<uint64_t>((seconds(usage.ru_utime) + seconds(usage.ru_stime)) * ticks);
}

}  // namespace

std::optional<CpuTimes> parse_cpu_times(std::string_view stat) {
  std::istringstream line{std::string(stat.substr(0, stat.find('\n')))};
  std::string name;
  if (!(line >> name) || name != "cpu") return std::nullopt;
  // The fields of the line, in their order. Guest time follows them and is contained in user time.
  enum { kUser, kNice, kSystem, kIdle, kIoWait, kIrq, kSoftIrq, kSteal, kFields };
  std::array<uint64_t, kFields> ticks{};
  for (uint64_t& field : ticks) {
    if (!(line >> field)) return std::nullopt;
  }
  CpuTimes times;
  times.all = std::accumulate(ticks.begin(), ticks.end(), uint64_t{0});
  times.stolen = ticks[kSteal];
  times.busy = times.all - ticks[kIdle] - ticks[kIoWait] - ticks[kSteal];
  return times;
}

std::optional<CpuTimes> read_cpu_times() {
  std::ifstream file("/proc/stat");
  std::string line;
  std::getline(file, line);
  std::optional<CpuTimes> times = parse_cpu_times(line);
  if (times) times->own = own_ticks();
  return times;
}

namespace {

// Returns the ticks that were stolen until now; 0 where the system does not tell.
uint64_t stolen_ticks() {
  const std::optional<CpuTimes> times = read_cpu_times();
  return times ? times->stolen : 0;
}

}  // namespace

QuietCheck::QuietCheck() : stolen_(stolen_ticks()) {}

bool QuietCheck::quiet(double seconds, uint32_t threads) const {
  const auto stolen = static_cast<double>(stolen_ticks() - stolen_);
  return stolen / static_cast<double>(sysconf(_SC_CLK_TCK)) <= 0.01 * seconds * threads;
}

std::optional<CpuShares> cpu_shares(const std::optional<CpuTimes>& before,
                                    const std::optional<CpuTimes>& after) {
  if (!before || !after || after->all <= before->all) return std::nullopt;
  auto passed = [&](uint64_t CpuTimes::*field) {
    return static_cast<double>(*after.*field) - static_cast<double>(*before.*field);
  };
  double all = passed(&CpuTimes::all);
  // The difference may be negative: some kernels' counters fall at times, and ticks are coarse.
  double others = passed(&CpuTimes::busy) - passed(&CpuTimes::own);
  return CpuShares{std::max(0.0, passed(&CpuTimes::stolen) / all), std::max(0.0, others / all)};
}

}  // namespace hearth
