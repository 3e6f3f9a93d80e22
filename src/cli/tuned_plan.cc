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

void use_tuned_plan(const Machine& machine, Isa isa, const ModelSpec& spec, const EngineArgs& args,
                    EngineOptions* options) {
  if (!leaves_plan_open(args)) return;
  const TunedStore::Found found =
      environment_store().find(machine_fields(machine, isa), model_fields(spec));
  if (!found.note.empty()) print_note(found.note);
  if (!found.tuned || found.tuned->engine_plan.empty()) return;
  const bool gains = std::ranges::any_of(
      found.tuned->phases, [](const TunedPhase& phase) { return phase.cost.ratio < 1; });
  if (!gains) return;
  try {
    EnginePlan plan = parse_engine_plan(found.tuned->engine_plan, machine);
    plan.prefill.max_rows = options->prefill_rows;
    plan.decode.max_rows = options->decode_rows;
    options->plan = engine_plan_text(machine, plan);
  } catch (const Error& error) {
    print_note(fmt::format("'{}' is not used: {}", found.path, error.what()));
    return;
  }
  print_note(fmt::format("works by the plan that `hearth tune` found ('{}')", found.path));
}

}  // namespace hearth
