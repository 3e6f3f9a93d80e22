// Figures of a row of logits.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace hearth {

bool all_finite(std::span<const float> logits);
// What to say where they are not.
inline constexpr const char* kNotNumbers =
    "the model gives logits that are not numbers: its weights are damaged, or too large for it; "
    "get the file again";

// log(sum(exp(logits))): a logit less this is its log-probability.
double log_sum_exp(std::span<const float> logits);

// The `count` likeliest tokens with logit - `norm`, likeliest first, the lower id among equals.
std::vector<std::pair<int32_t, double>> top_logprobs(std::span<const float> logits, double norm,
                                                     uint32_t count);

}  // namespace hearth
