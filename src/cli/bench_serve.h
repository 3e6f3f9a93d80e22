// hearth bench --serve: measures a server of OpenAI's API under load, as a client. Errors: an
// address where no server answers, a server that refuses the first request, unreadable files.
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
  double seconds = 0;  // 0: until `requests` requests are done
  double timeout = 600;
  uint32_t warmup = 1, seed = 0;
  std::optional<std::string> lengths, key_file;  // paths of files
  std::optional<double> ttft_ms, tpot_ms;
  ServeCall call;
};

// Adds --serve and the options that belong to it, which exclude `others`; --lengths excludes
// `lengths`, which are -p and -n.
void add_bench_serve_options(CLI::App& verb, BenchServeArgs* args,
                             const std::vector<CLI::Option*>& others,
                             const std::vector<CLI::Option*>& lengths);

// Measures and prints; returns the exit status.
int measure_serve(BenchSession& session, const BenchServeArgs& args);

}  // namespace hearth
