#include "tune/step_timer.h"

#include <algorithm>

#include "base/clock.h"
#include "bench/runner.h"

namespace hearth {
namespace {

// Decode steps of a trial, so that it takes some milliseconds at least.
constexpr uint32_t kDecodeSteps = 4;

}  // namespace

StepTimer::StepTimer(Engine& engine, const TuneCases& cases)
    : engine_(engine), depth_(cases.depth) {
  const uint32_t longest = *std::max_element(cases.prompts.begin(), cases.prompts.end());
  tokens_ =
      bench_tokens(std::max(longest, depth_) + kMostThreshold, engine.spec().hyper.vocabulary, 1);
}

double StepTimer::decode(uint32_t sequences) {
  while (sequences_.size() < sequences) {
    sequences_.push_back(engine_.new_sequence(depth_));
    engine_.prefill(*sequences_.back(), std::span(tokens_).first(depth_));
  }
  std::vector<StepRequest> requests;
  for (uint32_t s = 0; s < sequences; ++s) {
    requests.push_back({sequences_[s].get(), std::span(tokens_).subspan(s, 1), Want::kLast});
  }
  engine_.step(requests);
  const double start = steady_seconds();
  for (uint32_t step = 0; step < kDecodeSteps; ++step) engine_.step(requests);
  const double took = steady_seconds() - start;
  for (uint32_t s = 0; s < sequences; ++s) sequences_[s]->cut_for_timing(depth_);
  return took;
}

double StepTimer::prompt(uint32_t tokens) {
  const std::unique_ptr<Sequence> sequence = engine_.new_sequence(tokens);
  const double start = steady_seconds();
  engine_.prefill(*sequence, std::span(tokens_).first(tokens));
  return steady_seconds() - start;
}

}  // namespace hearth
