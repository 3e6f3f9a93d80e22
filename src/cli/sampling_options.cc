#include "cli/sampling_options.h"

#include <CLI/CLI.hpp>

#include "cli/options.h"

namespace hearth {
namespace {

struct RealOption {
  const char* name;
  float SamplingParams::*value;
  const char* help;
};
constexpr RealOption kReals[] = {
    {"--temp", &SamplingParams::temperature, "Temperature; 0: always the likeliest token"},
    {"--top-p", &SamplingParams::top_p,
     "Sample from the likeliest tokens that sum up to this probability; 1: all"},
    {"--min-p", &SamplingParams::min_p,
     "Sample from tokens at least this fraction as likely as the likeliest"},
    {"--repeat-penalty", &SamplingParams::repeat_penalty,
     "Divide the logits of recent tokens by this; 1: off"},
    {"--presence-penalty", &SamplingParams::presence_penalty,
     "Subtract this from the logits of recent tokens; 0: off"},
    {"--frequency-penalty", &SamplingParams::frequency_penalty,
     "Subtract this for each recent occurrence of a token; 0: off"}};

struct CountOption {
  const char* name;
  uint32_t SamplingParams::*value;
  uint32_t most;
  const char* help;
};
constexpr CountOption kCounts[] = {
    {"--top-k", &SamplingParams::top_k, 1u << 24, "Sample from the K likeliest tokens; 0: all"},
    {"--penalty-window", &SamplingParams::penalty_window, 1u << 20,
     "How many tokens count as recent for the penalties"}};

bool given(const CLI::App& verb, const char* name) { return verb.get_option(name)->count() > 0; }

}  // namespace

TakeSampling add_sampling_options(CLI::App& verb, SamplingParams* sampling) {
  for (const RealOption& option : kReals) {
    add_real(verb, option.name, &(sampling->*option.value), option.help);
  }
  for (const CountOption& option : kCounts) {
    add_count(verb, option.name, &(sampling->*option.value), 0, option.most, option.help)
        ->capture_default_str();
  }
  return [&verb, from = sampling](SamplingParams* to) {
    for (const RealOption& option : kReals) {
      if (given(verb, option.name)) to->*option.value = from->*option.value;
    }
    for (const CountOption& option : kCounts) {
      if (given(verb, option.name)) to->*option.value = from->*option.value;
    }
  };
}

}  // namespace hearth
