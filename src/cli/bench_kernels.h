// hearth bench --kernels: measures only matrix products, with the shapes of a model's matrices.
// Errors: a type that does not exist, or threads on several nodes (kUsage); those of reading the
// file.
#pragma once

#include "bench/contenders.h"
#include "cli/bench_session.h"

namespace hearth {

// Adds --kernels and the options that belong to it, which exclude `others`.
void add_kernel_options(CLI::App& verb, BenchArgs* args, const std::vector<CLI::Option*>& others);

// Adds the options that select products: -m, --types.
std::vector<CLI::Option*> add_product_options(CLI::App& verb, BenchArgs* args);

void measure_kernels(BenchSession& session, Contenders& contenders);

}  // namespace hearth
