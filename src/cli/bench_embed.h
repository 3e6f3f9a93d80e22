// hearth bench --embed: measures how many texts devices embed within a time limit, each by itself
// and all together. Errors: invalid specs; devices that do not answer or give vectors of different
// widths.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/bench_session.h"
#include "embed/latency_line.h"

namespace hearth {

struct BenchEmbedArgs {
  bool embed = false;
  std::vector<std::string> devices;  // specs of --device
  std::vector<double> slos{1, 2};    // seconds
  std::vector<uint32_t> lengths{kProbeTokens};
  std::vector<std::string> admissions{"deadline"};
  std::vector<double> parts{0.5, 1, 1.5};  // loads, as parts of the capacity; 0 is skipped
  double arrival_seconds = 20;
};

// Adds --embed and the options that belong to it, which exclude `others`.
void add_bench_embed_options(CLI::App& verb, BenchEmbedArgs* args,
                             const std::vector<CLI::Option*>& others);

// Measures and prints; returns the exit status.
int measure_embed(BenchSession& session, const BenchEmbedArgs& args);

}  // namespace hearth
