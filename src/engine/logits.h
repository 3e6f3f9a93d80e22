// Figures of a row of logits: at least one, finite but where said otherwise.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace hearth {

// Of any floats.
bool all_finite(std::span<const float> logits);
// What to say where they are not.
inline constexpr const char* kNotNumbers =
    "the model gives logits that are not numbers: its weights are damaged, or too large for it; "
    "get the file again";

// Infinities may be among these.
float largest(std::span<const float> logits);
// The token with the largest logit, the lowest id among equals.
int32_t argmax(std::span<const float> logits);
// Calls call(token, logit) for every logit >= threshold in ascending order of tokens; `threshold`
// may rise meanwhile.
void for_each_at_least(std::span<const float> logits, const float& threshold,
                       const std::function<void(int32_t token, float logit)>& call);

// log(sum(exp(logits))): a logit less this is its log-probability.
double log_sum_exp(std::span<const float> logits);

// The `count` likeliest tokens with logit - `norm`, likeliest first, the lower id among equals.
std::vector<std::pair<int32_t, double>> top_logprobs(std::span<const float> logits, double norm,
                                                     uint32_t count);

}  // namespace hearth
