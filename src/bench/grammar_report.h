// Reports a run over many schemas, for people and for programs.
#pragma once

#include <string>

#include "bench/grammar_bench.h"

namespace hearth {

std::string grammar_report_text(const GrammarBenchResult& result);
std::string grammar_report_json(const GrammarBenchResult& result);

}  // namespace hearth
