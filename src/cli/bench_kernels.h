// hearth bench --kernels: matrix products alone, over the shapes of a model's matrices.
// Errors: a type that does not exist, or threads on several nodes (kUsage); those of reading the
// file.
#pragma once

#include "cli/bench_session.h"

namespace hearth {

// Adds --kernels and the options that go with it; `others` are those that do not.
void add_kernel_options(CLI::App& verb, BenchArgs* args, const std::vector<CLI::Option*>& others);

void measure_kernels(BenchSession& session);

}  // namespace hearth
