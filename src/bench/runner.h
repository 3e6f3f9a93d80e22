// Runs measurements over an engine. For each sequence a context of the case's depth is filled once,
// and the sequence is cut back to it after every repetition. Before the first repetition the case
// runs once unmeasured (decode: one step), so that memory is mapped and threads are awake. The
// limits are sampled before the first repetition and after each.
//
// A token is chosen from every row of logits, as `hearth run` does it without options. The steps do
// not use those tokens: they compute pseudo-random ids with a fixed seed, the same in every run.
// The ids do not change the time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/figures.h"
#include "engine/engine.h"
#include "engine/sampler.h"

namespace hearth {

struct BenchHooks {
  // Asked between steps; true ends the run at once.
  std::function<bool()> interrupted = [] { return false; };
  // Called after every step with the number of tokens measured so far and the name of what runs.
  std::function<void(uint64_t tokens, std::string_view doing)> progress = [](uint64_t,
                                                                             std::string_view) {};
};

// Returns pseudo-random ids in [0, vocabulary), the same for the same seed.
std::vector<int32_t> bench_tokens(uint32_t count, uint32_t vocabulary, uint32_t seed);

// Returns the engine's options that the cases need: context, sequences, outputs.
EngineOptions options_for(std::span<const BenchCase> cases);

class BenchRunner {
 public:
  // The engine must be made with options_for() these cases; `limits` measures its team.
  BenchRunner(Engine& engine, TeamLimits& limits, const WorkGraph& work, BenchHooks hooks);

  // Profiles the cases that run from now on.
  void set_profiling(bool on) { profiling_ = on; }

  // Interrupted repetitions do not count.
  CaseResult run(const BenchCase& what, uint32_t repetitions);
  bool interrupted() const { return interrupted_; }

 private:
  bool fill(const BenchCase& what);
  // Each of these returns false where the user interrupted.
  bool repeat(const BenchCase& what);
  bool prefill(Sequence& sequence, uint32_t tokens, Want want);
  bool decode(const BenchCase& what, uint32_t tokens);
  bool step(std::span<const StepRequest> requests, uint32_t tokens);
  void choose(std::span<const StepRequest> requests);
  void cut_back();
  std::span<const int32_t> some_tokens(size_t begin, size_t count) const;

  Engine& engine_;
  TeamLimits& limits_;
  WorkGraph work_;
  BenchHooks hooks_;
  std::vector<int32_t> tokens_;
  Sampler sampler_{SamplingParams{}};
  std::vector<std::unique_ptr<Sequence>> sequences_;  // all `depth_` long between repetitions
  uint32_t depth_ = 0, prompt_ = 0;
  uint64_t measured_ = 0;  // tokens
  bool measuring_ = false, profiling_ = false;
  std::string doing_;
  bool interrupted_ = false;
};

}  // namespace hearth
