// The report of `hearth bench --embed` in three forms: Markdown for people, CSV and JSON (formatted
// as bench/report.h says). docs/bench.md says what every figure means.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/cpu_times.h"
#include "bench/embed_bench.h"

namespace hearth {

struct EmbedReport {
  std::string version, time;  // this program's version; the start of the run, UTC
  std::string cpu;
  std::string model;                 // empty: no model was loaded
  std::vector<std::string> devices;  // as given on the command line
  uint32_t repetitions = 0;
  std::vector<EmbedCase> cases;
  std::vector<EmbedArrivals> arrivals;
  std::optional<EmbedDispatch> dispatch;
  std::optional<CpuShares> shares;  // of CPU time during the run; none: unknown
  bool interrupted = false;
  std::vector<std::string> notes;
};

std::string markdown(const EmbedReport& report);
// The table has a row for each device at each length and objective. Only the other forms have
// arrivals.
std::string csv(const EmbedReport& report);
std::string json(const EmbedReport& report);

}  // namespace hearth
