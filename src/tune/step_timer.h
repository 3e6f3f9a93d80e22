// StepTimer: measures how long steps take on a loaded engine, under the engine's present plan and
// schedules. It fills its sequences before the first step that needs them, and cuts them back to
// their depth after each trial. From earlier times it estimates how long other steps will take.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "engine/engine.h"
#include "tune/tune_cases.h"

namespace hearth {

class StepTimer {
 public:
  // The engine must have been made with engine_options() of the cases, and must outlive this
  // object.
  StepTimer(Engine& engine, const TuneCases& cases);

  // Returns the seconds of some decode steps with so many of the cases' sequences; one untimed step
  // comes first. On an encoder each step is a text of so many tokens instead.
  double decode(uint32_t sequences);
  // Returns the seconds of a prompt of so many tokens; on an encoder, of a text. It may have as
  // many tokens as the longest prompt of the cases, or kMaxThreshold.
  double prompt(uint32_t tokens);

  // Returns the seconds of every case of a phase. In decode, these are the steps of up to
  // `max_rows` rows. First an untimed prompt wakes threads up and touches the memory of a new plan.
  std::vector<double> cases(Phase phase, uint32_t max_rows);

  // Estimate how many seconds a call takes, its untimed part included, but without filling
  // sequences. They return 0 before the first call of the same kind.
  double about_decode(uint32_t sequences) const;
  double about_prompt(uint32_t tokens) const;
  double about_cases(Phase phase, uint32_t max_rows) const;
  // Estimates how many seconds filling takes for those of the cases' sequences that are still
  // empty.
  double about_filling() const;

 private:
  void text(uint32_t tokens);
  uint32_t first_prompt() const;

  Engine& engine_;
  TuneCases cases_;
  std::vector<int32_t> tokens_;
  std::vector<std::unique_ptr<Sequence>> sequences_;  // each has the cases' depth between trials
  std::map<uint32_t, double> decodes_, prompts_;      // [size]: seconds of the last call
};

}  // namespace hearth
