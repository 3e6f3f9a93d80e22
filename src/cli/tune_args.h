// The options of `hearth tune` whose values are more than a word.
#pragma once

#include <string_view>

namespace hearth {

// "90s", "10m", "1.5h" in seconds. Throws (kUsage), naming --budget.
double parse_budget(std::string_view text);

}  // namespace hearth
