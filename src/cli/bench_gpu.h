// hearth bench --gpu: passes over prompts through a GPU, as they are and as they were predicted to
// be.
#pragma once

#include "cli/bench_session.h"
#include "cli/options.h"

namespace hearth {

// --gpu, --gpu-rows, --gpu-memory, --gpu-layers and --gpu-experts; none goes with `others`.
void add_bench_gpu_options(CLI::App& verb, PromptGpuArgs* args,
                           const std::vector<CLI::Option*>& others);

// Measures the lengths of -p that a pass has rows for. Returns the exit status.
int measure_gpu(BenchSession& session, const PromptGpuArgs& gpu);

}  // namespace hearth
