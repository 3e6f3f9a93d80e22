// Sampling options, for verbs that generate text.
#pragma once

#include <functional>

#include "cli/cli11.h"
#include "engine/sampler.h"

namespace hearth {

// Copies the values of options given on the command line into `sampling`.
using TakeSampling = std::function<void(SamplingParams* sampling)>;

// Adds the sampling options; `sampling` holds the defaults. Returns a function that applies the
// parsed values.
TakeSampling add_sampling_options(CLI::App& verb, SamplingParams* sampling);

}  // namespace hearth
