#include "engine/tuned_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "kernels/kernels.h"

namespace hearth {

bool leaves_plan_open(const EngineOptions& options) {
  if (options.tuned == TunedUse::kNever || options.plan || !options.schedules.empty()) return false;
  const bool whole = options.tuned == TunedUse::kWhole;
  const bool placed = options.threads != 0 || !options.nodes.empty() || !options.pus.empty();
  const bool grouped = options.shards != 0 || options.prefill_groups != 0 ||
                       options.decode_groups != 0 || options.sync != EngineOptions{}.sync;
  return (whole || !placed) && !grouped && !options.experts && !options.interleave;
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

EngineOptions with_tuned(const Machine& machine, Isa isa, const ModelSpec& spec,
                         EngineOptions options, const Listener& listener) {
  if (!leaves_plan_open(options)) return options;
  const TunedStore::Found found =
      TunedStore::of_environment().find(machine_fields(machine, isa), model_fields(spec));
  if (!found.note.empty()) listener.warn(found.note);
  const Kernels& kernels = kernels_for(isa);
  add_unnamed(kernels.products, &options.schedules.entries);
  if (!found.tuned) return options;
  std::optional<EnginePlan> plan;
  ScheduleTable schedules;
  try {
    plan = tuned_plan(*found.tuned, machine, options);
    schedules = timed_schedules(*found.tuned);
    check_schedules(schedules, kernels);
  } catch (const Error& error) {
    listener.warn(fmt::format("'{}' is not used: {}", found.path, error.what()));
    return options;
  }
  std::string uses;
  if (plan) uses = "plan";
  if (!schedules.empty()) uses += plan ? " and the schedules" : "schedules";
  if (uses.empty()) return options;
  listener.warn(fmt::format("using the {} that `hearth tune` found ('{}')", uses, found.path));
  options.plan = std::move(plan);
  options.schedules = std::move(schedules);
  add_unnamed(kernels.products, &options.schedules.entries);
  return options;
}

}  // namespace hearth
