// Generation: a prompt through the engine, then token after token until something ends it. What is
// given out is well-formed UTF-8 at every moment and holds no stop string, nor the beginning of
// what may become one.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cli/interrupts.h"
#include "engine/engine.h"
#include "engine/sampler.h"
#include "formats/gguf.h"
#include "text/tokenizer.h"

namespace hearth {

enum class Finish { kEndOfText, kLength, kContext, kStopString, kInterrupted };
// "end of text", "length": stable names for machine-readable output.
const char* finish_name(Finish finish);

struct GenerateOptions {
  uint32_t max_tokens = 0;  // 0: as many as there is room for
  std::vector<std::string> stops;
  bool logprobs = false;
};

struct GeneratedToken {
  uint32_t index;  // 0, 1, ...
  int32_t id;
  // The text that became certain with this token; all of them joined are the text generated.
  std::string text;
  double logprob;  // of the model's own distribution, before any sampling option; where asked for
};

struct Generation {
  Finish finish = Finish::kInterrupted;
  std::string stop;  // the stop string found
  std::string text;
  uint32_t tokens = 0;
  double first_token_seconds = 0;  // from the start of the prompt
  double total_seconds = 0;
  // Rates in tokens per second; 0 where there is nothing to measure.
  double prompt_rate(size_t prompt_tokens) const;
  double rate() const;
};

using TokenCallback = std::function<void(const GeneratedToken&)>;

// The prompt has at least one token and fits the engine's context.
Generation generate(Engine& engine, const GgufFile& file, const Tokenizer& tokenizer,
                    Sampler& sampler, std::span<const int32_t> prompt,
                    const GenerateOptions& options, Interrupts& interrupts,
                    const TokenCallback& on_token);

}  // namespace hearth
