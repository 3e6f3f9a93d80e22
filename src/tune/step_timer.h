// StepTimer: measures how long steps take on a loaded engine, under its current plan and schedules.
// It fills its sequences before the first step that needs them, and cuts them back after each
// trial. From earlier times it estimates how long others will take.
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

  // Returns the seconds of some decode steps with so many of the cases' sequences, after one that
  // is not timed. With an encoder the steps are texts of so many tokens.
  double decode(uint32_t sequences);
  // Returns the seconds of a prompt of so many tokens, up to the longest of the cases, or
  // kMaxThreshold; for an encoder, of a text.
  double prompt(uint32_t tokens);

  // Returns the seconds of every case of a phase whose decode steps have up to `max_rows` rows,
  // after a prompt that wakes threads up and touches the memory of a new plan.
  std::vector<double> cases(Phase phase, uint32_t max_rows);

  // Estimate how many seconds a call takes, its untimed part included but not filling sequences.
  // They return 0 before the first call of their kind.
  double about_decode(uint32_t sequences) const;
  double about_prompt(uint32_t tokens) const;
  double about_cases(Phase phase, uint32_t max_rows) const;
  // Estimates how many seconds it takes to fill the cases' sequences that are not filled yet.
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
