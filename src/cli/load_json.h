// Measured loads of a model as an object of `hearth bench --json`; docs/bench.md has its keys.
#pragma once

#include "bench/load_bench.h"
#include "cli/json.h"

namespace hearth {

// `result` has a repetition.
void add_loads(Json& json, const LoadResult& result);

}  // namespace hearth
