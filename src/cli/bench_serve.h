// hearth bench --serve: a server of OpenAI's interface under a load, seen from outside.
// Errors: an address where nobody answers, a server that refuses the first request, files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/serve_load.h"
#include "cli/bench_session.h"

namespace hearth {

struct BenchServeArgs {
  std::string url;
  std::vector<double> rates;
  std::vector<uint32_t> concurrency;
  bool find_rate = false;
  uint32_t requests = 100;
  double seconds = 0;  // 0: as many requests as `requests` says
  double timeout = 600;
  uint32_t warmup = 1, seed = 0;
  std::optional<std::string> lengths, key_file;  // paths
  std::optional<double> ttft_ms, tpot_ms;
  ServeCall call;
};

// Adds --serve and what goes with it; `others` are the options that do not, and `lengths` -p and
// -n, which --lengths replaces.
void add_bench_serve_options(CLI::App& verb, BenchServeArgs* args,
                             const std::vector<CLI::Option*>& others,
                             const std::vector<CLI::Option*>& lengths);

// Returns the exit status.
int measure_serve(BenchSession& session, const BenchServeArgs& args);

}  // namespace hearth
