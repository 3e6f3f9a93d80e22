// hearth bench --compare: shows saved reports beside one another. Errors: a file that is not a
// report of --json (kFile); reports of several kinds (kUsage).
#pragma once

#include "cli/bench_session.h"

namespace hearth {

// Adds --compare, which excludes all options that `verb` has already.
void add_compare_option(CLI::App& verb, BenchArgs* args);

// Prints the comparison; returns the exit status.
int compare_reports(const BenchArgs& args);

}  // namespace hearth
