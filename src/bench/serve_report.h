// The report of `hearth bench --serve` in three forms: Markdown for people, CSV and JSON (formatted
// as bench/report.h says). docs/bench.md says what every figure means.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/cpu_times.h"
#include "bench/serve_figures.h"
#include "bench/serve_load.h"

namespace hearth {

struct ServeReport {
  std::string version, time;  // this program's version; the start of the run, UTC
  std::string cpu;            // of the client's machine
  std::string url;
  ServeCall call;
  std::string lengths;  // "512 prompt tokens, 128 output tokens", or the name of the file
  uint64_t seed = 0;
  ServeSlo slo;
  std::vector<ServedLoad> loads;    // loads in which at least one request ended
  std::optional<CpuShares> shares;  // of CPU time during the run; none: unknown
  bool interrupted = false;
  std::vector<std::string> notes;
};

// Adds a note for each reason to doubt the figures: answers shorter than asked for, or tokens that
// the client had to count.
void note_doubts(ServeReport* report);

std::string markdown(const ServeReport& report);
std::string csv(const ServeReport& report);
std::string json(const ServeReport& report);

}  // namespace hearth
