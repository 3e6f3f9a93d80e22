// hearth bench --load: measures how long the model takes to load, and how long its bytes take to
// copy. Errors: those of making an engine.
#pragma once

#include "cli/bench_session.h"

namespace hearth {

// Adds --load, which excludes `others`.
CLI::Option* add_load_option(CLI::App& verb, BenchArgs* args,
                             const std::vector<CLI::Option*>& others);

void measure_loads(BenchSession& session);

}  // namespace hearth
