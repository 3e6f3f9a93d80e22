// hearth bench --compare: reports that were measured before, beside one another.
// Errors: a file that is no report of --json (kFile); reports of several kinds (kUsage).
#pragma once

#include "cli/bench_session.h"

namespace hearth {

// Adds --compare, which goes with none of the options that stand in `verb` already.
void add_compare_option(CLI::App& verb, BenchArgs* args);

// Returns the exit status.
int compare_reports(const BenchArgs& args);

}  // namespace hearth
