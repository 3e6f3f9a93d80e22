// The findings of `hearth bench --embed`, and their forms: Markdown for people, CSV, JSON (as
// bench/report.h has them). docs/bench.md says what every figure means.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/cpu_times.h"
#include "bench/embed_bench.h"

namespace hearth {

struct EmbedReport {
  std::string version, time;  // of this program; of the start, UTC
  std::string cpu;
  std::string model;                 // empty: none was loaded
  std::vector<std::string> devices;  // as given
  uint32_t repetitions = 0;
  std::vector<EmbedCase> cases;
  std::vector<EmbedArrivals> arrivals;
  std::optional<EmbedDispatch> dispatch;
  std::optional<CpuShares> shares;  // of CPU time during the run; none: unknown
  bool interrupted = false;
  std::vector<std::string> notes;
};

std::string markdown(const EmbedReport& report);
// A row for each device at each length and objective; arrivals are in the other forms.
std::string csv(const EmbedReport& report);
std::string json(const EmbedReport& report);

}  // namespace hearth
