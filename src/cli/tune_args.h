// Parses options of `hearth tune`.
#pragma once

#include <string_view>

namespace hearth {

// Returns the seconds of "90s", "10m" or "1.5h". Throws (kUsage), naming --budget.
double parse_budget(std::string_view text);

}  // namespace hearth
