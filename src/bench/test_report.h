// Makes reports for tests, and compares tables by their cells.
#pragma once

#include <string>
#include <utility>

#include "bench/report.h"

namespace hearth {

inline BenchReport sample_report(std::string cpu, uint32_t repetitions) {
  BenchReport report;
  report.version = "1.2.3";
  report.time = "2030-01-02T03:04:05Z";
  report.cpu = std::move(cpu);
  report.repetitions = repetitions;
  report.shares = CpuShares{0.01, 0.25};
  return report;
}

inline BenchModel sample_model() {
  return {"m.gguf", "llama", "M", "q8_0", "", 1'500'000'000, 3 << 20};
}

// Returns the text of a table with the padding of its cells removed.
inline std::string squeezed(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c != ' ' || !out.ends_with(' ')) out += c;
  }
  return out;
}

}  // namespace hearth
