// The sampling parameters where neither a request nor the server's options give them: those that
// the model's file recommends (general.sampling.*), else those of OpenAI's API.
#pragma once

#include "base/listener.h"
#include "engine/sampler.h"
#include "formats/metadata.h"

namespace hearth {

// Returns OpenAI's defaults: temperature 1, no filters. Presence and frequency penalties count
// generated tokens only.
SamplingParams openai_sampling();

// Returns `otherwise` with the values that the file recommends: temp, top_k, top_p, min_p,
// penalty_repeat, penalty_last_n. Values of another type or out of range are skipped with a warning
// to `listener`; so are samplers that are not built.
SamplingParams file_sampling(const Metadata& metadata, const SamplingParams& otherwise,
                             const Listener& listener);

}  // namespace hearth
