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
    {"--temp", &SamplingParams::temperature, "Temperature; 0 takes the likeliest token"},
    {"--top-p", &SamplingParams::top_p, "Among the likeliest that sum up to P; 1: all"},
    {"--min-p", &SamplingParams::min_p, "Among those at least P times as likely as the first"},
    {"--repeat-penalty", &SamplingParams::repeat_penalty,
     "Divides the logits of tokens seen lately; 1: off"},
    {"--presence-penalty", &SamplingParams::presence_penalty,
     "Taken from the logits of tokens seen lately; 0: off"},
    {"--frequency-penalty", &SamplingParams::frequency_penalty,
     "The same for every time they were seen; 0: off"}};

struct CountOption {
  const char* name;
  uint32_t SamplingParams::*value;
  uint32_t most;
  const char* help;
};
constexpr CountOption kCounts[] = {
    {"--top-k", &SamplingParams::top_k, 1u << 24, "Among the K likeliest; 0: all"},
    {"--penalty-window", &SamplingParams::penalty_window, 1u << 20,
     "The last tokens that the penalties look at"}};

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
