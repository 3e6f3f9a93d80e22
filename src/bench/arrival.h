// Measures a long prompt that arrives while another sequence decodes. The result holds the longest
// pause between that sequence's tokens and the time that the prompt takes. Both sequences go
// through the scheduler, as in a server.
#pragma once

#include <cstdint>
#include <string>

#include "base/spread.h"
#include "bench/runner.h"
#include "engine/engine.h"

namespace hearth {

struct ArrivalCase {
  uint32_t prompt = 0;      // tokens
  double step_seconds = 0;  // SchedulerOptions::step_seconds
};

struct ArrivalResult {
  ArrivalCase what;
  uint32_t repetitions = 0;
  // Seconds between two tokens of the decoding sequence: the median before the prompt came, and the
  // longest from then on until the prompt's second token.
  Spread usual_seconds, longest_seconds;
  Spread first_token_seconds;  // of the prompt, counted from its arrival
  Spread tokens_meanwhile;     // tokens of the decoding sequence until the prompt's second token
};

// Raises the context and the number of sequences in `options` to what a case with this prompt
// needs.
void fit_arrival(uint32_t prompt, EngineOptions* options);

// Runs the case `repetitions` times; interrupted repetitions do not count. Throws (kFile), with the
// model's name, if the model's logits are not numbers: such a model generates nothing.
ArrivalResult measure_arrival(Engine& engine, const std::string& model, const ArrivalCase& what,
                              uint32_t repetitions, const BenchHooks& hooks);

}  // namespace hearth
