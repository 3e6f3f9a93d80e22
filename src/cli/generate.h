// Runs prompts through the service, as many at once as the service accepts, until all of their
// continuations end.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/interrupts.h"
#include "engine/service.h"

namespace hearth {

// One continuation of a prompt, as generated so far.
struct Continuation {
  size_t prompt = 0;
  uint32_t choice = 0;
  size_t prompt_tokens = 0;
  uint32_t cached_tokens = 0;  // tokens of the prompt whose KV entries another prompt left
  std::string text;
  uint32_t tokens = 0;
  std::optional<Finish> finish;
  std::string stop, error;
  // Seconds from the start of generate() until the first token, and the last result so far, were
  // computed.
  double first_token_seconds = 0, total_seconds = 0;

  // Rates in tokens per second; 0 where there is nothing to measure.
  double prompt_rate() const;
  double rate() const;
};

// Called after each result has been added to its continuation.
using ResultCallback = std::function<void(const Continuation&, const Result&)>;

// Generates continuations for all prompts. `request` holds what they have in common; its `choices`
// is the number of continuations of each prompt. The result is ordered by prompt, then choice.
// Ctrl-C cancels running requests.
std::vector<Continuation> generate(Service& service,
                                   const std::vector<std::vector<int32_t>>& prompts,
                                   const Request& request, const Interrupts& interrupts,
                                   const ResultCallback& on_result);

}  // namespace hearth
