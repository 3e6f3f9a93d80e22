// Looks up, when an engine is started, the results that `hearth tune` stored for the machine and
// the model's shape (cost/tuned_store.h). It uses them if the options leave the placement of
// threads open. Products of sizes that the processor's own schedules name
// (kernels/processor_schedules.h) use these, unless tuning found others for them.
#pragma once

#include <optional>

#include "base/listener.h"
#include "cost/tuned_store.h"
#include "engine/engine_options.h"
#include "engine/engine_plan.h"

namespace hearth {

// Returns whether the options leave the placement of threads and the schedules of products open.
bool leaves_plan_open(const EngineOptions& options);

// Returns the plan that was found, for steps of the rows that `options` have. If they leave
// decode_rows at the default, the found number is used. Returns none if tuning found no plan that
// gains. Throws Error (kUsage) if the text is not a plan of this machine.
std::optional<EnginePlan> tuned_plan(const Tuned& tuned, const Machine& machine,
                                     const EngineOptions& options);

// Returns the options with the plan and schedules that `hearth tune` stored for this model on this
// machine, if they leave the placement of threads open; else unchanged. Tells the listener in a
// line which results are used, or why none can be.
EngineOptions with_tuned(const Machine& machine, Isa isa, const ModelSpec& spec,
                         EngineOptions options, const Listener& listener = {});

}  // namespace hearth
