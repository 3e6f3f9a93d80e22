#include "tune/threshold_tuner.h"

#include <algorithm>

#include "base/fnv_hash.h"
#include "tune/engine_restored.h"
#include "tune/plan_pairs.h"

namespace hearth {
namespace {

// How many prompts one trial has. A single short prompt would take less time than common
// disturbances.
constexpr uint32_t kPrompts = 3;
// A case must not cost more than this, however much the mean of all cases gains.
constexpr double kDearest = 1 + PairedTrials::kMinGain;

EnginePlan with_threshold(const EnginePlan& plan, uint32_t rows) {
  EnginePlan other = plan;
  other.decode.max_rows = rows;
  return other;
}

// Returns a hash of both phases' plans. `plan.decode` must have the candidate threshold.
uint64_t plans_hash(const EnginePlan& plan) {
  FnvHash hash;
  hash.add(plan_text(plan.decode));
  hash.add(plan_text(plan.prefill));
  return hash.value();
}

}  // namespace

std::vector<uint32_t> threshold_candidates(const EnginePlan& plan, uint32_t most) {
  std::vector<uint32_t> candidates;
  for (uint32_t rows = 4; rows <= std::min(most, plan.prefill.max_rows); rows *= 2) {
    if (rows != plan.decode.max_rows) candidates.push_back(rows);
  }
  return candidates;
}

std::vector<uint32_t> rows_between(uint32_t one, uint32_t other) {
  const uint32_t low = std::min(one, other), high = std::max(one, other);
  const uint32_t middle = (low + high) / 2;
  return middle > low && middle < high ? std::vector<uint32_t>{middle, high}
                                       : std::vector<uint32_t>{high};
}

ThresholdTuner::ThresholdTuner(Engine& engine, TuneCases cases, StepTimer& timer, TuneHooks hooks)
    : engine_(engine), cases_(std::move(cases)), hooks_(std::move(hooks)), timer_(timer) {}

std::vector<double> ThresholdTuner::time_cases(const std::vector<uint32_t>& rows) {
  std::vector<double> seconds;
  // An untimed prompt first wakes threads up and touches the memory of a new plan.
  timer_.prompt(rows.back());
  for (uint32_t tokens : rows) {
    double took = 0;
    for (uint32_t i = 0; i < kPrompts; ++i) took += timer_.prompt(tokens);
    seconds.push_back(took);
  }
  for (uint32_t sequences : cases_.sequences) seconds.push_back(timer_.decode(sequences));
  return seconds;
}

// Estimates how many seconds time_cases() takes.
double ThresholdTuner::about(const std::vector<uint32_t>& rows) const {
  double seconds = timer_.about_prompt(rows.back());
  for (uint32_t tokens : rows) seconds += kPrompts * timer_.about_prompt(tokens);
  for (uint32_t sequences : cases_.sequences) seconds += timer_.about_decode(sequences);
  return seconds;
}

bool ThresholdTuner::tune(const EnginePlan& plan, uint32_t most, Tuned* tuned) {
  const EngineRestored restored(engine_);
  tuned->threshold.reset();
  TunedThreshold result{plan.decode.max_rows, {}, 0};
  const std::vector<uint32_t> candidates = threshold_candidates(plan, cases_.max_threshold);
  const auto all = static_cast<uint32_t>(candidates.size());
  for (uint32_t i = 0; i < all; ++i) {
    const EnginePlan challenger = with_threshold(plan, candidates[i]);
    ThresholdTrial trial{candidates[i], plans_hash(challenger), {}, 1};
    const auto known = std::ranges::find_if(tuned->threshold_trials, [&](const auto& other) {
      return other.rows == trial.rows && other.plans == trial.plans;
    });
    if (known != tuned->threshold_trials.end()) {
      trial = *known;
    } else {
      const std::vector<uint32_t> rows = rows_between(plan.decode.max_rows, trial.rows);
      PlanPairs pairs(
          engine_, hooks_, [&] { return time_cases(rows); }, about(rows));
      const std::optional<PlanPairs::Comparison> measured =
          pairs.compare({plan}, {challenger}, most,
                        {"the threshold", "candidate", i, all, 0, most, result.cost.ratio});
      if (!measured) return false;
      trial.cost = measured->cost;
      trial.dearest = measured->dearest;
      result.trials += measured->pairs;
      tuned->threshold_trials.push_back(trial);
      hooks_.save();
    }
    const bool falls = trial.cost.high <= PairedTrials::kWorth && trial.dearest <= kDearest;
    if (!falls || trial.cost.ratio >= result.cost.ratio) continue;
    result.rows = trial.rows;
    result.cost = trial.cost;
  }
  tuned->threshold = result;
  return true;
}

}  // namespace hearth
