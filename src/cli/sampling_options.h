// The options that say which token is chosen, for verbs that generate text.
#pragma once

#include "cli/cli11.h"
#include "engine/sampler.h"

namespace hearth {

// What `sampling` holds is the default.
void add_sampling_options(CLI::App& verb, SamplingParams* sampling);

// Copies those of `given` whose options stand on the command line into `sampling`.
void take_given_options(const CLI::App& verb, const SamplingParams& given,
                        SamplingParams* sampling);

}  // namespace hearth
