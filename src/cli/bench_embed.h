// hearth bench --embed: how many texts devices embed within an objective, alone and together.
// Errors: specs, devices that do not answer or give vectors of different widths.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/bench_session.h"
#include "embed/latency_line.h"

namespace hearth {

struct BenchEmbedArgs {
  bool embed = false;
  std::vector<std::string> devices;  // specs
  std::vector<double> slos{1, 2};    // seconds
  std::vector<uint32_t> lengths{kProbeTokens};
  std::vector<std::string> admissions{"deadline"};
  std::vector<double> parts{0.5, 1, 1.5};  // of the capacity; 0: none
  double arrival_seconds = 20;
};

// Adds --embed and what goes with it; `others` are the options that do not.
void add_bench_embed_options(CLI::App& verb, BenchEmbedArgs* args,
                             const std::vector<CLI::Option*>& others);

// Returns the exit status.
int measure_embed(BenchSession& session, const BenchEmbedArgs& args);

}  // namespace hearth
