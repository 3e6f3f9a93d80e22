// How tokens are sampled where neither a request nor the server's options say: as the model's file
// recommends (general.sampling.*), else as OpenAI's API has it.
#pragma once

#include "base/listener.h"
#include "engine/sampler.h"
#include "formats/metadata.h"

namespace hearth {

// Temperature 1 and nothing else; presence and frequency penalties count generated tokens alone.
SamplingParams openai_sampling();

// Replaces what the file recommends: temp, top_k, top_p, min_p, penalty_repeat and penalty_last_n.
// A value of another type or out of range is left out, and `listener` warned; so is a sampler that
// is not built.
SamplingParams file_sampling(const Metadata& metadata, const SamplingParams& otherwise,
                             const Listener& listener);

}  // namespace hearth
