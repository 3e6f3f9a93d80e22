#include "tune/step_timer.h"

#include <algorithm>

#include "base/clock.h"
#include "bench/runner.h"
#include "graph/ops/gemm_tasks.h"

namespace hearth {
namespace {

// How many decode steps a trial has: enough to take at least some milliseconds.
constexpr uint32_t kDecodeSteps = 4;

}  // namespace

StepTimer::StepTimer(Engine& engine, const TuneCases& cases) : engine_(engine), cases_(cases) {
  const uint32_t longest = std::max(cases.depth, *std::ranges::max_element(cases.prompts));
  tokens_ = bench_tokens(longest + kMaxThreshold, engine.spec().hyper.vocabulary, 1);
}

// Computes one text of so many tokens, on an engine with an encoder.
void StepTimer::text(uint32_t tokens) {
  const std::unique_ptr<Sequence> sequence = engine_.new_sequence();
  const StepRequest request{sequence.get(), std::span(tokens_).first(tokens), Want::kHiddenFirst};
  engine_.step({&request, 1});
}

double StepTimer::decode(uint32_t sequences) {
  std::vector<StepRequest> requests;
  const bool encoder = engine_.spec().is_encoder();
  while (!encoder && sequences_.size() < sequences) {
    sequences_.push_back(engine_.new_sequence(cases_.depth));
    engine_.prefill(*sequences_.back(), std::span(tokens_).first(cases_.depth));
  }
  for (uint32_t s = 0; !encoder && s < sequences; ++s) {
    requests.push_back({sequences_[s].get(), std::span(tokens_).subspan(s, 1), Want::kLast});
  }
  auto step = [&] { encoder ? text(sequences) : void(engine_.step(requests)); };
  step();
  const double start = steady_seconds();
  for (uint32_t i = 0; i < kDecodeSteps; ++i) step();
  const double took = steady_seconds() - start;
  for (const StepRequest& request : requests) request.sequence->cut_for_timing(cases_.depth);
  decodes_[sequences] = took;
  return took;
}

double StepTimer::prompt(uint32_t tokens) {
  const double start = steady_seconds();
  if (engine_.spec().is_encoder()) {
    text(tokens);
  } else {
    const std::unique_ptr<Sequence> sequence = engine_.new_sequence(tokens);
    engine_.prefill(*sequence, std::span(tokens_).first(tokens));
  }
  return prompts_[tokens] = steady_seconds() - start;
}

uint32_t StepTimer::first_prompt() const {
  return std::min(kTaskRows, *std::ranges::max_element(cases_.prompts));
}

std::vector<double> StepTimer::cases(Phase phase, uint32_t max_rows) {
  std::vector<double> seconds;
  if (phase == Phase::kPrefill) {
    prompt(first_prompt());
    for (uint32_t tokens : cases_.prompts) seconds.push_back(prompt(tokens));
  } else {
    for (uint32_t sequences : cases_.sequences) {
      if (sequences <= max_rows) seconds.push_back(decode(sequences));
    }
  }
  return seconds;
}

double StepTimer::about_cases(Phase phase, uint32_t max_rows) const {
  double seconds = 0;
  if (phase == Phase::kPrefill) {
    seconds = about_prompt(first_prompt());
    for (uint32_t tokens : cases_.prompts) seconds += about_prompt(tokens);
  } else {
    for (uint32_t sequences : cases_.sequences) {
      if (sequences <= max_rows) seconds += about_decode(sequences);
    }
  }
  return seconds;
}

double StepTimer::about_decode(uint32_t sequences) const {
  if (decodes_.empty()) return 0;
  const auto like = decodes_.find(sequences);
  const double steps = like != decodes_.end() ? like->second : decodes_.rbegin()->second;
  return steps * (1 + 1.0 / kDecodeSteps);
}

double StepTimer::about_filling() const {
  if (engine_.spec().is_encoder()) return 0;
  const size_t all = *std::ranges::max_element(cases_.sequences);
  const size_t filled = std::min(all, sequences_.size());
  return static_cast<double>(all - filled) * about_prompt(cases_.depth);
}

double StepTimer::about_prompt(uint32_t tokens) const {
  if (prompts_.empty()) return 0;
  const auto like = prompts_.find(tokens);
  if (like != prompts_.end()) return like->second;
  // Scales the time of the longest prompt so far. So this assumes that each token of a longer
  // prompt takes no more time.
  const auto& [longest, took] = *prompts_.rbegin();
  return took * tokens / longest;
}

}  // namespace hearth
