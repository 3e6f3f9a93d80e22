// hearth bench --load: how long the model takes to load, beside a copy of its bytes.
// Errors: those of making an engine.
#pragma once

#include "cli/bench_session.h"

namespace hearth {

// Adds --load; `others` are the options that do not go with it.
CLI::Option* add_load_option(CLI::App& verb, BenchArgs* args,
                             const std::vector<CLI::Option*>& others);

void measure_loads(BenchSession& session);

}  // namespace hearth
