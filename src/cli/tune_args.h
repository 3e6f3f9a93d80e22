// The options of `hearth tune` whose values are more than a word.
#pragma once

#include <string>
#include <string_view>

#include "bench/tune_cases.h"

namespace hearth {

// "90s", "10m", "1.5h" in seconds. Throws (kUsage), naming --budget.
double parse_budget(std::string_view text);

// Cases for the lengths in a CSV of "prompt,output" lines, tokens each, below a head line or none:
// prompts as long as the quartiles of the trace's, and decode behind half of what a request is at
// the median. Throws (kUsage), with the line, for what is none.
TuneCases cases_of_trace(std::string_view csv, uint32_t most_prompt, uint32_t most_depth);

}  // namespace hearth
