// The findings of `hearth bench --serve`, and their forms: Markdown for people, CSV, JSON (as
// bench/report.h has them). docs/bench.md says what every figure means.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/cpu_times.h"
#include "bench/serve_figures.h"
#include "bench/serve_load.h"

namespace hearth {

struct ServeReport {
  std::string version, time;  // of this program; of the start, UTC
  std::string cpu;            // of the client's machine
  std::string url;
  ServeCall call;
  std::string lengths;  // "512 prompt tokens, 128 output tokens", or the file they come from
  uint64_t seed = 0;
  ServeSlo slo;
  std::vector<ServedLoad> loads;    // those with a request that ended
  std::optional<CpuShares> shares;  // of CPU time during the run; none: unknown
  bool interrupted = false;
  std::vector<std::string> notes;
};

// Adds to the notes what makes figures doubtful: answers that are shorter than asked for, tokens
// that the client had to count.
void note_doubts(ServeReport* report);

std::string markdown(const ServeReport& report);
std::string csv(const ServeReport& report);
std::string json(const ServeReport& report);

}  // namespace hearth
