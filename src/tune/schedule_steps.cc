// The last part of tuning schedules: it times whole steps with the schedules that were found, and
// with the default ones.
#include <algorithm>
#include <vector>

#include "bench/cpu_times.h"
#include "graph/ops/gemm_tasks.h"
#include "tune/attend_search.h"
#include "tune/plan_pairs.h"
#include "tune/schedule_tuner.h"
#include "tune/step_cases.h"

namespace hearth {
namespace {

// The most pairs of trials for a whole step.
constexpr uint32_t kMaxStepPairs = 20;

}  // namespace

bool ScheduleTuner::tune_attention(Tuned* tuned) {
  progress_.unit = "attention";
  TuneHooks hooks = hooks_;
  hooks.progress = [&](const TuneProgress& at) {
    progress_.trials = at.trials;
    progress_.about = at.about;
    report_progress();
  };
  const EnginePlan plan = engine_.plan();
  const uint32_t rows = plan.decode.max_rows;
  const auto compare = [&](const AttendSchedule& incumbent, const AttendSchedule& challenger) {
    ScheduleTable now = tuned_schedules(*tuned), other = now;
    now.attend = incumbent;
    other.attend = challenger;
    PlanPairs pairs(
        engine_, hooks, [&] { return timer_.cases(Phase::kDecode, rows); },
        timer_.about_cases(Phase::kDecode, rows));
    progress_.best = tuned->attend ? tuned->attend->cost.ratio : 1;
    const auto compared = pairs.compare({plan, &now}, {plan, &other}, kMaxStepPairs, progress_);
    if (compared) ++progress_.done;
    return compared;
  };
  return search_attention(attention_left(*tuned), compare, hooks_.save, &tuned->attend);
}

std::vector<AttendSchedule> ScheduleTuner::attention_left(const Tuned& tuned) const {
  if (!engine_.graph(Phase::kDecode).attends() || engine_.spec().is_encoder()) return {};
  const uint32_t places = kernels_for(engine_.isa()).attend_places;
  return untried(attend_candidates(places, cases_.depth), tuned.attend);
}

// Steps of several sizes may share products of experts. If one of these steps gets no faster, its
// products lose their schedules (reset_step()). Then other steps that were timed with these
// schedules are timed again.
bool ScheduleTuner::tune_steps(Tuned* tuned) {
  progress_.unit = "step";
  const std::vector<StepCase> all = step_cases(cases_, engine_.plan());
  const uint32_t done = progress_.done;
  auto is_timed = [&](const StepCase& one) {
    return std::ranges::any_of(tuned->steps,
                               [&](const TunedStep& step) { return one.is_of(step); });
  };
  for (size_t i = 0; i < all.size();) {
    const StepCase& one = all[i++];
    progress_.done = done + static_cast<uint32_t>(std::ranges::count_if(all, is_timed));
    if (is_timed(one)) continue;
    TunedStep step{one.phase, one.size, {}, 0};
    const ScheduleTable table = tuned_schedules(*tuned);
    if (!table.entries.empty()) {
      const std::optional<PairedTrials> pairs = compare_steps(table, one.phase, one.size);
      if (!pairs) return false;
      step.trials = pairs->pairs();
      step.cost = pairs->ratio();
    }
    if (step.cost.ratio > 1) {
      step.cost = {};
      if (reset_step(one, engine_.plan().prefill.max_rows, tuned)) i = 0;
    }
    tuned->steps.push_back(step);
    hooks_.save();
  }
  progress_.done = done + static_cast<uint32_t>(all.size());
  return true;
}

// Compares whole steps with the schedules of `table` and with the default ones. Returns none where
// the comparison was stopped.
std::optional<PairedTrials> ScheduleTuner::compare_steps(const ScheduleTable& table, Phase phase,
                                                         uint32_t size) {
  const double about = phase == Phase::kDecode ? timer_.about_decode(size)
                                               : timer_.about_prompt(size) +
                                                     timer_.about_prompt(std::min(size, kTaskRows));
  const uint32_t most = std::min(kMaxStepPairs, hooks_.max_pairs(2 * about));
  PairedTrials pairs(most);
  uint32_t disturbed = 0;
  auto trial = [&](const ScheduleTable& schedules) {
    return [&]() -> std::optional<double> {
      engine_.set_plan(engine_.plan(), schedules);
      // An untimed prompt first touches the memory of the new graph.
      if (phase == Phase::kPrefill) timer_.prompt(std::min(size, kTaskRows));
      const QuietCheck check;
      const double took = phase == Phase::kDecode ? timer_.decode(size) : timer_.prompt(size);
      // The time of a disturbed trial counts too after many disturbed ones: the host may never be
      // quiet.
      const bool counts = check.quiet(took, engine_.threads()) || ++disturbed > most;
      if (counts || hooks_.stop(about)) return took;
      return std::nullopt;
    };
  };
  // Both sides have the same attention schedule, so its gain does not count as the products'.
  const ScheduleTable default_schedules{.entries = {}, .attend = table.attend};
  progress_.about = most;
  const PairedTrials::Verdict verdict = pairs.run(trial(default_schedules), trial(table), [&] {
    progress_.trials = pairs.pairs();
    progress_.best = pairs.pairs() == 0 ? 1 : pairs.ratio().ratio;
    if (pairs.pairs() > 0) {
      progress_.about = likely_pairs(pairs.ratio(), pairs.pairs(), most);
    }
    report_progress();
    return hooks_.stop(2 * about);
  });
  return verdict == PairedTrials::Verdict::kOpen ? std::nullopt : std::optional(pairs);
}

}  // namespace hearth
