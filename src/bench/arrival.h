// Measures a long prompt that arrives while another sequence decodes: the longest pause between
// that sequence's tokens, and how long the prompt takes, through the scheduler as a server would
// run it.
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
  Spread first_token_seconds;  // of the prompt, from its arrival
  Spread tokens_meanwhile;     // of the decoding sequence, until the prompt's second token
};

// Raises `options` (context, sequences) so that an engine can run such a case, too.
void fit_arrival(uint32_t prompt, EngineOptions* options);

// Runs the case so often; repetitions that somebody interrupted don't count. Throws (kFile), with
// the model's name, where its logits are not numbers: it generates nothing.
ArrivalResult measure_arrival(Engine& engine, const std::string& model, const ArrivalCase& what,
                              uint32_t repetitions, const BenchHooks& hooks);

}  // namespace hearth
