// A measured matrix product as an object of `hearth bench --json`; docs/bench.md has its keys.
#pragma once

#include "bench/kernel_bench.h"
#include "bench/team_limits.h"
#include "cli/json.h"

namespace hearth {

// `result` has a repetition.
void add_kernel(Json& json, const KernelResult& result, const LimitSample& best);

}  // namespace hearth
