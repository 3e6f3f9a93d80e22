// Prompts through the service, as many at once as it takes, until each of their continuations has
// ended.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/interrupts.h"
#include "engine/service.h"

namespace hearth {

// The continuation of one prompt, as far as it is known.
struct Continuation {
  size_t prompt = 0;
  uint32_t choice = 0;
  size_t prompt_tokens = 0;
  uint32_t cached_tokens = 0;  // of the prompt, shared with another
  std::string text;
  uint32_t tokens = 0;
  std::optional<Finish> finish;
  std::string stop, error;
  // Seconds from the start of all until the first token, and until the last result so far, had been
  // computed.
  double first_token_seconds = 0, total_seconds = 0;

  // Rates in tokens per second; 0 where there is nothing to measure.
  double prompt_rate() const;
  double rate() const;
};

// Called after each result has been added to its completion.
using ResultCallback = std::function<void(const Continuation&, const Result&)>;

// `request` holds what is the same for all prompts; its `choices` are the continuations of each.
// Completions are returned by prompt, then choice. Ctrl-C cancels what is under way.
std::vector<Continuation> generate(Service& service,
                                   const std::vector<std::vector<int32_t>>& prompts,
                                   const Request& request, const Interrupts& interrupts,
                                   const ResultCallback& on_result);

}  // namespace hearth
