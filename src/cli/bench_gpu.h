// hearth bench --gpu: measures passes over prompts through a GPU, and compares them with
// predictions.
#pragma once

#include "cli/bench_session.h"
#include "cli/options.h"

namespace hearth {

// Adds --gpu, --gpu-rows, --gpu-memory, --gpu-layers and --gpu-experts, which exclude `others`.
void add_bench_gpu_options(CLI::App& verb, PromptGpuArgs* args,
                           const std::vector<CLI::Option*>& others);

// Measures the prompt lengths of -p that fit a pass. Returns the exit status.
int measure_gpu(BenchSession& session, const PromptGpuArgs& gpu);

}  // namespace hearth
