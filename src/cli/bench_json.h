// The report of `hearth bench` as one JSON object on one line; docs/bench.md has its schema.
#pragma once

#include <string>

#include "bench/report.h"

namespace hearth {

std::string bench_json(const BenchReport& report);

}  // namespace hearth
