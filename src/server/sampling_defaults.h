// How tokens are sampled where a request does not say: the server's options, else what the model's
// file recommends (general.sampling.*), else what OpenAI's API has.
#pragma once

#include <cstdint>
#include <optional>

#include "base/listener.h"
#include "engine/sampler.h"
#include "formats/metadata.h"

namespace hearth {

// Temperature 1 and nothing else.
SamplingParams openai_sampling();

// Replaces what the file recommends: temp, top_k, top_p, min_p, penalty_repeat and penalty_last_n.
// A value of another type or out of range is left out, and `listener` warned; so is a sampler that
// is not built.
SamplingParams file_sampling(const Metadata& metadata, const SamplingParams& otherwise,
                             const Listener& listener);

// Unset ones leave the value as it is.
struct SamplingOptions {
  std::optional<float> temperature = std::nullopt;
  std::optional<uint32_t> top_k = std::nullopt;
  std::optional<float> top_p = std::nullopt;
  std::optional<float> min_p = std::nullopt;
  std::optional<float> repeat_penalty = std::nullopt;
  std::optional<float> presence_penalty = std::nullopt;
  std::optional<float> frequency_penalty = std::nullopt;
  std::optional<uint32_t> penalty_window = std::nullopt;
};

SamplingParams sampling_defaults(const SamplingOptions& options, const Metadata& metadata,
                                 const Listener& listener);

}  // namespace hearth
