// StepTimer: how long steps take on a loaded engine, under the plan and schedules that it has at
// the moment. Its sequences are filled when the first step of as many is timed, and cut back after
// it. It knows by what earlier steps took how long others will.
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
  // The engine was made with engine_options() of the cases, and outlives it.
  StepTimer(Engine& engine, const TuneCases& cases);

  // Returns the seconds of some decode steps of so many of the cases' sequences, after one that is
  // not timed; of an encoder those of some texts of so many tokens.
  double decode(uint32_t sequences);
  // Returns the seconds of a prompt of so many tokens, up to the longest of the cases, or
  // kMostThreshold; for an encoder, of a text.
  double prompt(uint32_t tokens);

  // Returns the seconds of every case of a phase whose decode steps have up to `most_rows` rows,
  // after a prompt that wakes threads up and touches the memory of a new plan.
  std::vector<double> cases(Phase phase, uint32_t most_rows);

  // Return about how many seconds a call takes, with all that is not timed but filling sequences; 0
  // before the first of its kind.
  double about_decode(uint32_t sequences) const;
  double about_prompt(uint32_t tokens) const;
  double about_cases(Phase phase, uint32_t most_rows) const;
  // Returns about how long it takes to fill those of the cases' sequences that are not filled.
  double about_filling() const;

 private:
  void text(uint32_t tokens);
  uint32_t first_prompt() const;

  Engine& engine_;
  TuneCases cases_;
  std::vector<int32_t> tokens_;
  std::vector<std::unique_ptr<Sequence>> sequences_;  // all as long as the cases' between trials
  std::map<uint32_t, double> decodes_, prompts_;      // seconds of the last call, by its size
};

}  // namespace hearth
