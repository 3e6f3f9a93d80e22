// The last part of tuning schedules: it times whole steps with the schedules that were found, and
// with the default ones.
#include <algorithm>
#include <vector>

#include "graph/ops/gemm_tasks.h"
#include "tune/plan_pairs.h"
#include "tune/schedule_tuner.h"

namespace hearth {

CompareAttention ScheduleTuner::compare_attention(const Tuned& tuned, uint32_t max_pairs) {
  return
      [this, &tuned, max_pairs](const AttendSchedule& incumbent, const AttendSchedule& challenger) {
        TuneHooks hooks = hooks_;
        hooks.progress = [&](const TuneProgress& at) {
          progress_.trials = at.trials;
          progress_.about = at.about;
          report_progress();
        };
        const EnginePlan plan = engine_.plan();
        const uint32_t rows = plan.decode.max_rows;
        ScheduleTable now = tuned_schedules(tuned), other = now;
        now.attend = incumbent;
        other.attend = challenger;
        PlanPairs pairs(
            engine_, hooks, [&] { return timer_.cases(Phase::kDecode, rows); },
            timer_.about_cases(Phase::kDecode, rows));
        progress_.unit = "attention";
        progress_.best = tuned.attend ? tuned.attend->cost.ratio : 1;
        const auto compared = pairs.compare({plan, &now}, {plan, &other}, max_pairs, progress_);
        if (compared) ++progress_.done;
        return compared;
      };
}

bool ScheduleTuner::tune_attention(Tuned* tuned) {
  return search_attention(attention_left(*tuned), compare_attention(*tuned, kMaxTrialPairs),
                          hooks_.save, &tuned->attend);
}

bool ScheduleTuner::confirm_attention(Tuned* tuned) {
  return hearth::confirm_attention(compare_attention(*tuned, kMaxTrialPairs / 2), hooks_.save,
                                   &tuned->attend);
}

std::vector<AttendSchedule> ScheduleTuner::attention_left(const Tuned& tuned) const {
  if (!engine_.graph(Phase::kDecode).attends() || engine_.spec().is_encoder()) return {};
  const uint32_t places = kernels_for(engine_.isa()).attend_places;
  return untried(attend_candidates(places, cases_.depth), tuned.attend);
}

bool ScheduleTuner::tune_steps(bool confirm, Tuned* tuned) {
  const std::vector<StepCase> all = step_cases(cases_, engine_.plan());
  const uint32_t done = progress_.done;
  auto is_done = [&](const StepCase& one) {
    return std::ranges::any_of(tuned->steps, [&](const TunedStep& step) {
      return one.is_of(step) && (step.confirmed || !confirm);
    });
  };
  const auto compare = [&](const StepCase& one) {
    progress_.done = done + static_cast<uint32_t>(std::ranges::count_if(all, is_done));
    return compare_step(one, tuned_schedules(*tuned));
  };
  const uint32_t prompt_rows = engine_.plan().prefill.max_rows;
  if (!search_steps(all, confirm, prompt_rows, compare, hooks_.save, tuned)) return false;
  progress_.done = done + static_cast<uint32_t>(all.size());
  return true;
}

// Compares whole steps with the schedules of `table` and with the default ones. Returns none where
// the comparison was stopped.
std::optional<StepComparison> ScheduleTuner::compare_step(const StepCase& one,
                                                          const ScheduleTable& table) {
  const Phase phase = one.phase;
  const uint32_t size = one.size;
  const double about = phase == Phase::kDecode ? timer_.about_decode(size)
                                               : timer_.about_prompt(size) +
                                                     timer_.about_prompt(std::min(size, kTaskRows));
  // Each step is compared twice, so each comparison has half of the pairs.
  const uint32_t most = std::min(kMaxTrialPairs, hooks_.max_pairs(2 * about)) / 2;
  PairedTrials pairs(most);
  uint32_t disturbed = 0;
  auto trial = [&](const ScheduleTable& schedules) {
    return [&]() -> std::optional<double> {
      engine_.set_plan(engine_.plan(), schedules);
      // An untimed prompt first touches the memory of the new graph.
      if (phase == Phase::kPrefill) timer_.prompt(std::min(size, kTaskRows));
      const TuneHooks::Quiet quiet = hooks_.watch_host();
      const double took = phase == Phase::kDecode ? timer_.decode(size) : timer_.prompt(size);
      // The time of a disturbed trial counts too after many disturbed ones: the host may never be
      // quiet.
      const bool counts = quiet(took, engine_.threads()) || ++disturbed > most;
      if (counts || hooks_.stop(about)) return took;
      return std::nullopt;
    };
  };
  // Both sides have the same attention schedule, so its gain does not count as the products'.
  const ScheduleTable default_schedules{.entries = {}, .attend = table.attend};
  progress_.unit = "step";
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
  if (verdict == PairedTrials::Verdict::kOpen) return std::nullopt;
  return StepComparison{pairs.ratio(), pairs.pairs()};
}

}  // namespace hearth
