// The options that say which token is chosen, for verbs that generate text.
#pragma once

#include <functional>

#include "cli/cli11.h"
#include "engine/sampler.h"

namespace hearth {

// Copies the values whose options stand on the command line into `sampling`.
using TakeSampling = std::function<void(SamplingParams* sampling)>;

// Adds the options of sampling; `sampling` holds the defaults. Returns a function that stores the
// parsed values.
TakeSampling add_sampling_options(CLI::App& verb, SamplingParams* sampling);

}  // namespace hearth
