#include "cli/tuned_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "cli/text_io.h"

namespace hearth {

TunedStore environment_store() {
  return TunedStore::of_environment([](const char* name) { return std::getenv(name); });
}

bool leaves_plan_open(const EngineArgs& args) {
  return args.plan == PlanArgs() && !args.interleave;
}

std::optional<EnginePlan> tuned_plan(const Tuned& tuned, const Machine& machine,
                                     const EngineOptions& options) {
  const bool gains = (tuned.threshold && tuned.threshold->cost.ratio < 1) ||
                     std::ranges::any_of(tuned.phases, [](const TunedPhase& phase) {
                       return phase.cost.ratio < 1;
                     });
  if (tuned.engine_plan.empty() || !gains) return std::nullopt;
  EnginePlan plan = parse_engine_plan(tuned.engine_plan, machine);
  plan.prefill.max_rows = options.prefill_rows;
  const bool open = options.decode_rows == EngineOptions{}.decode_rows;
  if (!open || !tuned.threshold) plan.decode.max_rows = options.decode_rows;
  plan.decode.max_rows = std::min(plan.decode.max_rows, options.prefill_rows);
  return plan;
}

void use_tuned(const Machine& machine, Isa isa, const ModelSpec& spec, const EngineArgs& args,
               EngineOptions* options) {
  if (!leaves_plan_open(args)) return;
  const TunedStore::Found found =
      environment_store().find(machine_fields(machine, isa), model_fields(spec));
  if (!found.note.empty()) print_note(found.note);
  if (!found.tuned) return;
  std::string uses;
  try {
    const std::optional<EnginePlan> plan = tuned_plan(*found.tuned, machine, *options);
    ScheduleTable schedules;
    // Before whole steps were timed nobody knows what they bring together.
    if (!found.tuned->steps.empty()) schedules = tuned_schedules(*found.tuned);
    check_schedules(schedules, kernels_for(isa));
    if (plan) options->plan = engine_plan_text(machine, *plan);
    if (plan) uses = "plan";
    if (!schedules.empty()) uses += plan ? " and the schedules" : "schedules";
    options->schedules = std::move(schedules);
  } catch (const Error& error) {
    print_note(fmt::format("'{}' is not used: {}", found.path, error.what()));
    return;
  }
  if (uses.empty()) return;
  print_note(fmt::format("works by the {} that `hearth tune` found ('{}')", uses, found.path));
}

}  // namespace hearth
