// What repeated measurements come to, as an object of `hearth bench --json`: median, min, max,
// relative.
#pragma once

#include "bench/statistics.h"
#include "cli/json.h"

namespace hearth {

void add_spread(Json& json, const char* key, const Spread& spread);

}  // namespace hearth
